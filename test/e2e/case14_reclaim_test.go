package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"offcut.dev/e2e/cluster"
)

const (
	holdAnnotation = "offcut.dev/hold"
	stayFinalizer  = "e2e.offcut.dev/stay" // its pod is deleted, and not gone
)

// red and blue are guaranteed a GPU each, and red may borrow blue's.
func newReclaimWorld(t *testing.T, mode string) *world {
	t.Helper()
	policy := newPolicyFile(t, tenant{name: "all"},
		tenant{name: "red", parent: "all", guarantee: 1, borrows: 1},
		tenant{name: "blue", parent: "all", guarantee: 1})
	text, err := os.ReadFile(policy.path)
	if err != nil {
		t.Fatal(err)
	}
	text = fmt.Appendf(text, "reclaim: {mode: %s, afterSeconds: 1}\n", mode)
	if err := os.WriteFile(policy.path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, cluster.KubeletOptions{}, "--policy="+policy.path)
	w.Apply("../../deploy/reclaim/rbac.yaml")
	w.CreateNamespaces("red", "blue")
	w.CreateNode("n", cluster.WholeA100x40(2))
	w.schedule(cluster.SchedulerOptions{})
	w.runPods(t, in("red", cluster.Pod("red-1", gpu, 1), cluster.Pod("red-2", gpu, 1))...)
	return w
}

// Waits for an event of that reason on the pod, and returns its note.
func (w *world) eventNote(t *testing.T, namespace, pod, reason string) string {
	t.Helper()
	note := ""
	cluster.Eventually(t, soon, reason+" is told of "+pod, func() error {
		list, err := w.Client.EventsV1().Events(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		i := slices.IndexFunc(list.Items, func(event eventsv1.Event) bool {
			return event.Reason == reason && event.Regarding.Name == pod
		})
		if i < 0 {
			return errNotYet
		}
		note = list.Items[i].Note
		return nil
	})
	return note
}

func named(pods []*corev1.Pod, name string) *corev1.Pod {
	i := slices.IndexFunc(pods, func(pod *corev1.Pod) bool { return pod.Name == name })
	if i < 0 {
		return nil
	}
	return pods[i]
}

// All pods have the same priority, so kube-scheduler preempts nobody. red's next pod waits already,
// and would take whatever becomes free.
func TestCase14ATenantTakesItsGuaranteeBackFromABorrower(t *testing.T) {
	t.Parallel()
	w := newReclaimWorld(t, "on")
	w.CreatePods(in("red", cluster.Pod("red-3", gpu, 1))...)
	w.Pods.Wait(t, soon, "red has all that there is", cluster.Unscheduled("Unschedulable", "red-3"))
	w.runPods(t, in("blue", cluster.Pod("blue-1", gpu, 1))...)
	pods := w.Pods.All()
	victim := "red-1" // of the same second as red-2: either may be the later
	if named(pods, victim) != nil {
		victim = "red-2"
	}
	if len(pods) != 3 || named(pods, victim) != nil || named(pods, "red-3").Spec.NodeName != "" {
		t.Errorf("pods are left: %v", cluster.NamesOf(pods))
	}
	note := w.eventNote(t, "blue", "blue-1", "OffcutReclaims")
	if !strings.Contains(note, "red/"+victim) ||
		!strings.Contains(note, "tenant blue has less than its guarantee, and tenant red more") {
		t.Errorf("blue-1 is told: %s", note)
	}
	w.eventNote(t, "red", victim, "OffcutEvicts")
	if evictions := w.offcut.Metric("offcut_evictions_total", ""); evictions != 1 {
		t.Errorf("%v evictions", evictions)
	}
	w.offcut.RequireLedgerEqualsRebuild()
}

// The victim takes long to go, Offcut is killed meanwhile, and red's next pod waits. What is held
// stands on blue's pod.
func TestCase14AHoldSurvivesARestart(t *testing.T) {
	t.Parallel()
	w := newReclaimWorld(t, "on")
	for _, name := range []string{"red-1", "red-2"} {
		w.patchPod(t, "red", name, fmt.Sprintf(`{"metadata":{"finalizers":[%q]}}`, stayFinalizer))
	}
	w.CreatePods(in("blue", cluster.Pod("blue-1", gpu, 1))...)
	isLeaving := func(pod *corev1.Pod) bool { return pod.DeletionTimestamp != nil }
	w.Pods.Wait(t, soon, "one of red's is being evicted", func(pods []*corev1.Pod) bool {
		return slices.ContainsFunc(pods, isLeaving) &&
			named(pods, "blue-1").Annotations[holdAnnotation] != ""
	})
	w.offcut.Kill()
	w.CreatePods(in("red", cluster.Pod("red-3", gpu, 1))...)
	w.offcut.Start()
	for _, pod := range w.Pods.All() {
		if isLeaving(pod) {
			w.patchPod(t, "red", pod.Name, `{"metadata":{"finalizers":null}}`)
		}
	}
	w.Pods.Wait(t, soon, "blue has its guarantee", cluster.Running("blue-1"))
	if pod := named(w.Pods.All(), "red-3"); pod.Spec.NodeName != "" {
		t.Error("red-3 has taken what was freed for blue-1")
	}
	w.offcut.RequireLedgerEqualsRebuild()
}

func TestCase14ADryRunSaysWhoWouldGoAndEvictsNobody(t *testing.T) {
	t.Parallel()
	w := newReclaimWorld(t, "dry-run")
	w.CreatePods(in("blue", cluster.Pod("blue-1", gpu, 1))...)
	note := w.eventNote(t, "blue", "blue-1", "OffcutWouldReclaim")
	victim := "red-1"
	if !strings.Contains(note, "would evict red/"+victim+" on node n") {
		victim = "red-2"
	}
	if !strings.Contains(note, "would evict red/"+victim+" on node n") {
		t.Errorf("blue-1 is told: %s", note)
	}
	w.eventNote(t, "red", victim, "OffcutWouldEvict")
	pods := w.Pods.All()
	if running(pods) != 2 || named(pods, "blue-1").Annotations[holdAnnotation] != "" {
		t.Errorf("%d pods run", running(pods))
	}
	if evictions := w.offcut.Metric("offcut_evictions_total", ""); evictions != 0 {
		t.Errorf("%v evictions", evictions)
	}
}

// blue asks for more than it is guaranteed: nobody has to go.
func TestCase14NobodyGoesForMoreThanAGuarantee(t *testing.T) {
	t.Parallel()
	w := newReclaimWorld(t, "on")
	w.CreatePods(in("blue", cluster.Pod("blue-2", gpu, 2))...)
	w.Pods.Wait(t, soon, "blue-2 is refused", cluster.Unscheduled("Unschedulable", "blue-2"))
	// What is planned for later comes behind it, by the same loop.
	w.CreatePods(in("blue", cluster.Pod("blue-1", gpu, 1))...)
	w.Pods.Wait(t, soon, "blue has its guarantee", cluster.Running("blue-1"))
	if evictions := w.offcut.Metric("offcut_evictions_total", ""); evictions != 1 {
		t.Errorf("%v evictions, want that for blue-1", evictions)
	}
}

func (w *world) patchPod(t *testing.T, namespace, name, patch string) {
	t.Helper()
	if _, err := w.Client.CoreV1().Pods(namespace).Patch(t.Context(), name,
		"application/merge-patch+json", []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

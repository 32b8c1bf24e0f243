package e2e

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"offcut.dev/e2e/cluster"
)

// The tests TestConformanceNN are the cases of one list by their numbers: what kube-scheduler's own
// tests demand of it towards its extenders (pkg/scheduler/extender_test.go, schedule_one_test.go
// and test/integration/scheduler/extender). Here the scheduler is a real one, with Offcut and
// further extenders, and what matters besides is that Offcut stays right about its devices. The
// cases that concern Offcut's answers alone are in test/api/conformance_test.cc.

const (
	gpu     = "nvidia.com/gpu"
	license = "example.com/license" // no business of Offcut
)

var filterOnly = []string{"filter"}

// Refuses each of these nodes with one text.
func because(text string, nodes ...string) map[string]string {
	reasons := map[string]string{}
	for _, node := range nodes {
		reasons[node] = text
	}
	return reasons
}

// Makes that scheduler the pod's.
func by(scheduler string, pod *corev1.Pod) *corev1.Pod {
	pod.Spec.SchedulerName = scheduler
	return pod
}

// The pod is going to be bound by kube-scheduler itself.
func boundByOthers(pod *corev1.Pod) *corev1.Pod {
	pod.Labels = map[string]string{cluster.BoundByOthers: "true"}
	return pod
}

func wantsModel(pod *corev1.Pod, pattern string) *corev1.Pod {
	return annotated(pod, "offcut.dev/gpu-models", pattern)
}

// Creates the pod, waits until it was refused, and returns what its owner reads.
func (w *world) messageFor(t *testing.T, reason string, pod *corev1.Pod) string {
	t.Helper()
	w.CreatePods(pod)
	w.Pods.Wait(t, soon, "pod is refused", cluster.Unscheduled(reason, pod.Name))
	return cluster.ScheduledCondition(w.Pods.Latest(pod.UID)).Message
}

// Deletes the pods and waits until Offcut knows.
func (w *world) removePods(t *testing.T, pods ...*corev1.Pod) {
	t.Helper()
	names := cluster.NamesOf(pods)
	w.DeletePods(names...)
	w.Pods.Wait(t, soon, "pods are gone", cluster.Gone(names...))
	requireHolders(t, w)
}

func requireNode(t *testing.T, w *world, pod *corev1.Pod, node string) {
	t.Helper()
	if binding, _ := w.Pods.BindingOf(pod.UID); binding.Node != node {
		t.Errorf("%s is on %q, not on %s", pod.Name, binding.Node, node)
	}
}

// Compares whom Offcut sees holding GPUs with the pods that are bound.
func requireHolders(t *testing.T, w *world) {
	t.Helper()
	want := map[types.UID]int{}
	for _, pod := range w.Pods.All() {
		count := pod.Spec.Containers[0].Resources.Limits[gpu]
		if pod.Spec.NodeName != "" && count.Value() > 0 {
			want[pod.UID] = int(count.Value())
		}
	}
	cluster.Eventually(t, soon, "Offcut sees the bound pods hold their GPUs", func() error {
		seen, err := w.offcut.Holders()
		if err == nil && !maps.Equal(seen, want) {
			err = fmt.Errorf("it sees %v, bound are %v", seen, want)
		}
		return err
	})
}

// Whatever went wrong before, nothing is left of it: the bound pods hold their GPUs, each once, and
// so many pods of that scheduler take each GPU that is free. They are gone afterwards.
func requireFree(t *testing.T, w *world, scheduler string, free int) {
	t.Helper()
	requireHolders(t, w)
	fill := cluster.Pods("fill", free, gpu, 1)
	for _, pod := range fill {
		by(scheduler, pod)
	}
	w.runPods(t, fill...)
	one := by(scheduler, cluster.Pod("too-many", gpu, 1))
	w.messageFor(t, "Unschedulable", one)
	w.offcut.RequireLedgerEqualsRebuild()
	w.removePods(t, append(fill, one)...)
}

// The nodes of the last call, in the order of their names; none without a call.
func lastAsked(t *testing.T, calls []cluster.Call) []string {
	t.Helper()
	if len(calls) == 0 {
		return nil
	}
	return slices.Sorted(slices.Values(calls[len(calls)-1].Question(t).Names()))
}

// What Offcut answered last to a filter for the pod.
func lastFilter(t *testing.T, w *world, pod *corev1.Pod) cluster.FilterResult {
	t.Helper()
	calls := w.extender.CallsFor("filter", pod.UID)
	if len(calls) == 0 {
		t.Fatalf("Offcut was not asked about %s", pod.Name)
	}
	return calls[len(calls)-1].Filter(t)
}

// The extender is asked about the pod with these verbs, and with no others. A bind's call may be
// known a moment later than the pod that it bound.
func requireCalls(t *testing.T, extender *cluster.ExtenderProxy, pod *corev1.Pod,
	verbs ...string) {
	t.Helper()
	for _, verb := range verbs {
		waitCall(t, extender, verb, pod)
	}
	for _, verb := range []string{"filter", "prioritize", "preempt", "bind"} {
		if !slices.Contains(verbs, verb) && len(extender.CallsFor(verb, pod.UID)) > 0 {
			t.Errorf("there should be no %s of %s", verb, pod.Name)
		}
	}
}

// Waits for an answer to a call about the pod.
func waitCall(t *testing.T, extender *cluster.ExtenderProxy, verb string,
	pod *corev1.Pod) cluster.Call {
	t.Helper()
	var calls []cluster.Call
	cluster.Eventually(t, soon, verb+" of "+pod.Name, func() error {
		calls = extender.CallsFor(verb, pod.UID)
		if len(calls) == 0 {
			return errNotYet
		}
		return nil
	})
	return calls[0]
}

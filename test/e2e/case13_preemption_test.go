package e2e

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"offcut.dev/e2e/cluster"
)

// newPreemptionWorld has priorities low, middle and high, and a scheduler once nodes are there.
func newPreemptionWorld(t *testing.T, arguments ...string) *world {
	t.Helper()
	w := newWorld(t, cluster.KubeletOptions{}, arguments...)
	for name, value := range map[string]int32{"low": 10, "middle": 20, "high": 100} {
		w.CreatePriorityClass(name, value)
	}
	return w
}

// Runs the pod and says who had to go for it.
func (w *world) preempts(t *testing.T, pod *corev1.Pod) []string {
	t.Helper()
	before := map[string]bool{}
	for _, each := range w.Pods.All() {
		before[each.Name] = true
	}
	w.runPods(t, pod)
	for _, each := range w.Pods.All() {
		delete(before, each.Name)
	}
	gone := []string{}
	for name := range before {
		gone = append(gone, name)
	}
	return gone
}

func requireGone(t *testing.T, gone []string, want string) {
	t.Helper()
	if len(gone) != 1 || gone[0] != want {
		t.Errorf("evicted %v, want %s alone", gone, want)
	}
}

// Three pods of each kind run, of which one has the lowest priority; a pod of high priority takes
// its place, and nobody else's.
func TestCase13EachKindEvictsExactlyWhatItNeeds(t *testing.T) {
	t.Parallel()
	w := newPreemptionWorld(t)
	w.CreateNode("whole", cluster.WholeA100x40(2))
	w.CreateNode("slots", cluster.TimeSlicedT4(1, 2))
	w.CreateNode("mig", cluster.MixedA100())
	w.schedule(cluster.SchedulerOptions{})
	for _, kind := range []struct{ node, resource string }{
		{"whole", "nvidia.com/gpu"}, {"slots", "nvidia.com/gpu"},
	} {
		w.runPods(t,
			onNode(withPriority(cluster.Pod(kind.node+"-low", kind.resource, 1), "low"), kind.node),
			onNode(withPriority(cluster.Pod(kind.node+"-mid", kind.resource, 1), "middle"), kind.node))
		gone := w.preempts(t, onNode(
			withPriority(cluster.Pod(kind.node+"-high", kind.resource, 1), "high"), kind.node))
		requireGone(t, gone, kind.node+"-low")
	}
	// The small instance is of lower priority, and makes no room for a large one.
	const small, large = "nvidia.com/mig-1g.5gb", "nvidia.com/mig-3g.20gb"
	w.runPods(t,
		onNode(withPriority(cluster.Pod("mig-low", small, 1), "low"), "mig"),
		onNode(withPriority(cluster.Pod("mig-mid-1", large, 1), "middle"), "mig"),
		onNode(withPriority(cluster.Pod("mig-mid-2", large, 1), "middle"), "mig"))
	gone := w.preempts(t, onNode(withPriority(cluster.Pod("mig-high", large, 1), "high"), "mig"))
	if len(gone) != 1 || gone[0] == "mig-low" {
		t.Errorf("evicted %v, want one pod of %s", gone, large)
	}
	w.offcut.RequireLedgerEqualsRebuild()
}

// The victim of lower priority is covered by a budget that allows no disruption.
func TestCase13ABudgetIsHonoured(t *testing.T) {
	t.Parallel()
	w := newPreemptionWorld(t)
	w.CreateNode("guarded", cluster.WholeA100x40(1))
	w.CreateNode("other", cluster.WholeA100x40(1))
	w.schedule(cluster.SchedulerOptions{})
	covered := onNode(withPriority(cluster.Pod("covered", gpu, 1), "low"), "guarded")
	covered.Labels = map[string]string{"app": "covered"}
	w.runPods(t, covered, onNode(withPriority(cluster.Pod("plain", gpu, 1), "middle"), "other"))
	none := intstr.FromInt32(0)
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "covered"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: &none,
			Selector:       &metav1.LabelSelector{MatchLabels: covered.Labels},
		},
	}
	if _, err := w.Client.PolicyV1().PodDisruptionBudgets(metav1.NamespaceDefault).Create(
		t.Context(), budget, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	requireGone(t, w.preempts(t, withPriority(cluster.Pod("high", gpu, 1), "high")), "plain")
}

// blue lives within its guarantee of one GPU, red has borrowed: whoever asks for green's GPU gets
// it from red, though blue's pod has the lower priority; and nobody goes for a pod of red's.
func TestCase13OnlyBorrowersGiveWayToOtherTenants(t *testing.T) {
	t.Parallel()
	policy := newPolicyFile(t, tenant{name: "all"},
		tenant{name: "red", parent: "all", guarantee: 1, borrows: 2},
		tenant{name: "blue", parent: "all", guarantee: 1},
		tenant{name: "green", parent: "all", guarantee: 1})
	w := newPreemptionWorld(t, "--policy="+policy.path)
	w.CreateNamespaces("red", "blue", "green")
	w.CreateNode("n", cluster.WholeA100x40(3))
	w.schedule(cluster.SchedulerOptions{})
	pod := func(namespace, name, priority string) *corev1.Pod {
		pod := withPriority(cluster.Pod(name, gpu, 1), priority)
		pod.Namespace = namespace
		return pod
	}
	w.runPods(t, pod("blue", "blue", "low"), pod("red", "red-1", "middle"), pod("red", "red-2", "middle"))
	gone := w.preempts(t, pod("green", "green", "high"))
	if len(gone) != 1 || (gone[0] != "red-1" && gone[0] != "red-2") {
		t.Errorf("evicted %v, want one of red's", gone)
	}
	more := pod("green", "green-2", "high")
	w.CreatePods(more)
	w.Pods.Wait(t, soon, "green has its guarantee", cluster.Unscheduled("Unschedulable", more.Name))
	w.Pods.Wait(t, soon, "the others still run", cluster.Running("blue", "green"))
}

// The scheduler gives up on an answer that is late, and evicts nobody for it.
func TestCase13APreemptAnswerThatIsLateEvictsNobody(t *testing.T) {
	t.Parallel()
	w := newPreemptionWorld(t)
	w.CreateNode("n", cluster.WholeA100x40(1))
	w.schedule(cluster.SchedulerOptions{Timeout: time.Second})
	low := withPriority(cluster.Pod("low", gpu, 1), "low")
	w.runPods(t, low)
	w.extender.DelayNext("preempt", 1, 3*time.Second, 0)
	high := withPriority(cluster.Pod("high", gpu, 1), "high")
	w.CreatePods(high)
	w.Pods.Wait(t, soon, "the scheduler gives up", cluster.Unscheduled("Unschedulable", high.Name))
	cluster.Eventually(t, soon, "the answer comes all the same", func() error {
		if len(w.extender.CallsFor("preempt", high.UID)) == 0 {
			return errNotYet
		}
		return nil
	})
	w.Pods.Wait(t, soon, "low still runs", cluster.Running(low.Name))
	if pod := w.Pods.Latest(low.UID); pod == nil || pod.DeletionTimestamp != nil {
		t.Error("low was evicted")
	}
}

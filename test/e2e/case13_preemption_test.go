package e2e

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"offcut.dev/e2e/cluster"
)

// newPreemptionWorld has priorities low, middle and high.
func newPreemptionWorld(t *testing.T, arguments ...string) *world {
	t.Helper()
	w := newWorld(t, cluster.KubeletOptions{EndEvictedAfter: time.Second}, arguments...)
	for name, value := range map[string]int32{"low": 10, "middle": 20, "high": 100} {
		w.CreatePriorityClass(name, value)
	}
	return w
}

// Runs the pod and says who was evicted for it.
func (w *world) preempts(t *testing.T, pod *corev1.Pod) []string {
	t.Helper()
	before := w.evicted()
	w.runPods(t, pod)
	return slices.DeleteFunc(w.evicted(), func(name string) bool {
		return slices.Contains(before, name)
	})
}

// The names of all that a scheduler has evicted so far.
func (w *world) evicted() []string { return cluster.NamesOf(w.Pods.Preempted()) }

func requireGone(t *testing.T, gone []string, want string) {
	t.Helper()
	if len(gone) != 1 || gone[0] != want {
		t.Errorf("evicted %v, want %s alone", gone, want)
	}
}

// Creates the pod, and waits until it has been refused: nobody was evicted for it, and no node
// promised to it.
func (w *world) preemptsNobody(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	before := w.evicted()
	w.messageFor(t, "Unschedulable", pod)
	if now := w.evicted(); !slices.Equal(now, before) {
		t.Errorf("evicted %v; before %s came, it was %v", now, pod.Name, before)
	}
	if node := w.Pods.Nominated(pod.UID); node != "" {
		t.Errorf("%s was promised to %s", node, pod.Name)
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

// Priorities of 10 to 20, low and middle, do not preempt each other. Blue keeps within its
// guarantee of 8 GPUs.
const carefulPolicy = `
pools: [{name: a100, models: ["A100*"]}]
preemption: {protectedPriorities: [{from: 10, to: 20}]}
tenants:
- {name: all}
- {name: blue, parent: all, namespaces: [blue], quotas: [{pool: a100, guarantee: {devices: 8}}]}
- {name: red, parent: all, namespaces: [red], quotas: [{pool: a100, guarantee: {devices: 1}}]}
`

// The node's four GPUs are held by four pods of blue. kube-scheduler would evict one of them for
// each newcomer but the one that asks for eight GPUs, and Offcut says that it would be in vain.
func TestCase13NobodyIsEvictedInVain(t *testing.T) {
	t.Parallel()
	w := newPreemptionWorld(t, "--policy="+writePolicy(t, carefulPolicy))
	w.CreateNamespaces("red", "blue")
	w.CreateNode("n", cluster.WholeA100x40(4))
	w.schedule(cluster.SchedulerOptions{})
	holders := in("blue", withPriorities("low", cluster.Pods("holder", 4, gpu, 1))...)
	w.runPods(t, holders...)
	for _, newcomer := range []struct {
		pod       *corev1.Pod
		namespace string
		priority  string
		isAsked   bool // whether Offcut is, about victims
	}{
		{cluster.Pod("eight-gpus", gpu, 8), "blue", "high", false},
		{cluster.Pod("protected", gpu, 1), "blue", "middle", true},
		{cluster.Pod("other-tenant", gpu, 1), "red", "high", true},
		{wantsModel(cluster.Pod("other-model", gpu, 1), "H100*"), "blue", "high", true},
	} {
		pod := in(newcomer.namespace, withPriority(newcomer.pod, newcomer.priority))[0]
		w.preemptsNobody(t, pod)
		if !newcomer.isAsked {
			requireCalls(t, w.extender, pod)
		} else if kept := waitCall(t, w.extender, "preempt", pod).Preempted(t); len(kept) != 0 {
			t.Errorf("for %s somebody would go: %v", pod.Name, kept)
		}
		w.DeletePodsIn(pod.Namespace, pod.Name)
		w.Pods.Wait(t, soon, "newcomer is gone", cluster.Gone(pod.Name))
	}
	w.Pods.Wait(t, soon, "all holders run", cluster.Running(cluster.NamesOf(holders)...))
	// Not that nobody ever had to go.
	useful := in("blue", withPriority(cluster.Pod("useful", gpu, 1), "high"))[0]
	if gone := w.preempts(t, useful); len(gone) != 1 {
		t.Errorf("evicted %v, want one holder", gone)
	}
	w.offcut.RequireLedgerEqualsRebuild()
}

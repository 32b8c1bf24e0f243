package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"offcut.dev/e2e/cluster"
)

// Two nodes, one GPU and one victim each. The budget covers the victim of `guarded`, which would
// else be preferred as the one of lower priority. That the number arrived where it is compared, the
// scheduler's choice shows.
func TestConformance15PDBViolationsAndVictimsSurviveAChainOfExtenders(t *testing.T) {
	t.Parallel()
	w := newPreemptionWorld(t)
	w.CreateNode("guarded", cluster.WholeA100x40(1))
	w.CreateNode("open", cluster.WholeA100x40(1))
	guard(t, w)
	for form, wholeNodes := range map[string]bool{"names": false, "whole": true} {
		first := cluster.NewScriptedExtender(t, cluster.ScriptedOptions{
			Verbs: []string{"preempt"}, WholeNodes: wholeNodes,
		})
		w.schedule(cluster.SchedulerOptions{
			Name: form, WholeNodes: wholeNodes, Before: []*cluster.ScriptedExtender{first},
		})
		low := withPriority(cluster.Pod("low-"+form, gpu, 1), "low")
		onNode(by(form, low), "guarded")
		low.Labels = map[string]string{"guarded": "true"}
		middle := withPriority(cluster.Pod("middle-"+form, gpu, 1), "middle")
		onNode(by(form, middle), "open")
		w.runPods(t, low, middle)
		high := by(form, withPriority(cluster.Pod("high-"+form, gpu, 1), "high"))
		w.runPods(t, high)
		requireNode(t, w, high, "open")

		want := map[string]cluster.MetaVictims{
			"guarded": {Pods: []cluster.MetaPod{{UID: low.UID}}, NumPDBViolations: 1},
			"open":    {Pods: []cluster.MetaPod{{UID: middle.UID}}},
		}
		requireVictims(t, waitCall(t, first.ExtenderProxy, "preempt", high).Question(t), want)
		requireVictims(t, waitCall(t, w.extender, "preempt", high).Question(t), want)
		w.Pods.Wait(t, soon, "victim is gone", cluster.Gone(middle.Name))
		requireHolders(t, w)
		w.offcut.RequireLedgerEqualsRebuild()
		w.removePods(t, low, high)
	}
}

func withPriority(pod *corev1.Pod, class string) *corev1.Pod {
	pod.Spec.PriorityClassName = class
	return pod
}

// No controller runs here that computes its status, so it allows no disruption.
func guard(t *testing.T, w *world) {
	t.Helper()
	one := intstr.FromInt32(1)
	_, err := w.Client.PolicyV1().PodDisruptionBudgets(metav1.NamespaceDefault).Create(t.Context(),
		&policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Name: "guard"},
			Spec: policyv1.PodDisruptionBudgetSpec{
				MinAvailable: &one,
				Selector:     &metav1.LabelSelector{MatchLabels: map[string]string{"guarded": "true"}},
			},
		}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func requireVictims(t *testing.T, asked cluster.Question, want map[string]cluster.MetaVictims) {
	t.Helper()
	if got := asked.Victims(); !maps.EqualFunc(got, want, sameVictims) {
		t.Errorf("the victims are %v, not %v", got, want)
	}
}

// In whatever order: it follows priorities as far as Offcut's watch has shown the pods.
func sameVictims(a, b cluster.MetaVictims) bool {
	uids := func(victims cluster.MetaVictims) []string {
		names := []string{}
		for _, pod := range victims.Pods {
			names = append(names, string(pod.UID))
		}
		slices.Sort(names)
		return names
	}
	return a.NumPDBViolations == b.NumPDBViolations && slices.Equal(uids(a), uids(b))
}

// Four nodes, each dropped by another: in-tree plugins, Offcut, and the second extender once for
// now and once for good. The status of each is told by its reason in the message, and by whether
// preemption was tried there: the node that is refused for now is the only one.
func TestConformance16EachNodeKeepsTheStatusOfWhoeverDroppedIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cluster.KubeletOptions{})
	a100 := w.CreateNodes("a100", 2, cluster.WholeA100x40(2))
	w.CreateNode("t4", cluster.WholeT4(2))
	w.CreateNode("cpu", cluster.CPUOnly())
	second := cluster.NewScriptedExtender(t, cluster.ScriptedOptions{Verbs: filterOnly})
	w.schedule(cluster.SchedulerOptions{After: []*cluster.ScriptedExtender{second}})
	second.Answer(cluster.Answers{
		Failed: because("not now", a100[0]), Unresolvable: because("never", a100[1]),
	})
	pod := wantsModel(cluster.Pod("pod", gpu, 1), "A100*")
	text := w.messageFor(t, "Unschedulable", pod)
	reasons := []string{"1 Insufficient nvidia.com/gpu", "1 not now", "1 never"}
	filter := lastFilter(t, w, pod)
	for node, reason := range filter.FailedAndUnresolvableNodes {
		if node != "t4" {
			t.Errorf("Offcut refuses %s too: %s", node, reason)
		}
		reasons = append(reasons, "1 "+reason)
	}
	if !slices.Equal(slices.Sorted(slices.Values(filter.NodeNames)), a100) {
		t.Errorf("Offcut passed %v", filter.NodeNames)
	}
	reasons = append(reasons, "1 No preemption victims found for incoming pod",
		"3 Preemption is not helpful for scheduling")
	for _, reason := range reasons {
		if strings.Count(text, reason) != 1 {
			t.Errorf("%q should be there once: %s", reason, text)
		}
	}
	w.removePods(t, pod)

	second.Answer(cluster.Answers{Unresolvable: because("never", a100[1])})
	lucky := wantsModel(cluster.Pod("lucky", gpu, 1), "A100*")
	w.runPods(t, lucky)
	requireNode(t, w, lucky, a100[0])
	second.Answer(cluster.Answers{})
	requireFree(t, w, corev1.DefaultSchedulerName, 5)
}

// The scheduler counts waiting pods by the plugin that refused them. The pod that both refused
// wakes at any event; here a pod without a GPU is bound.
func TestConformance17RefusalByAnExtenderIsNotedBesideThePlugins(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cluster.KubeletOptions{})
	w.CreateNode("t4", cluster.WholeT4(2))
	w.CreateNode("cpu", cluster.CPUOnly())
	scheduler := w.schedule(cluster.SchedulerOptions{})
	refusedBy := func(plugin string, count float64) {
		t.Helper()
		what := fmt.Sprintf("%v pods refused by %s", count, plugin)
		cluster.Eventually(t, soon, what, func() error {
			label := fmt.Sprintf("plugin=%q", plugin)
			if now := scheduler.Metric("scheduler_unschedulable_pods", label); now != count {
				return fmt.Errorf("there are %v", now)
			}
			return nil
		})
	}
	inTree := cluster.Pod("in-tree", gpu, 99)
	w.messageFor(t, "Unschedulable", inTree)
	requireCalls(t, w.extender, inTree)
	refusedBy("NodeResourcesFit", 1)
	refusedBy("Extender", 0)
	both := wantsModel(cluster.Pod("both", gpu, 1), "A100*")
	w.messageFor(t, "Unschedulable", both)
	refusedBy("NodeResourcesFit", 2)
	refusedBy("Extender", 1)

	before := len(w.extender.CallsFor("filter", both.UID))
	w.runPods(t, cluster.Pod("event", "", 0))
	cluster.Eventually(t, soon, "refused pod is tried again", func() error {
		if len(w.extender.CallsFor("filter", both.UID)) == before {
			return errNotYet
		}
		return nil
	})
	w.removePods(t, inTree, both)
	refusedBy("Extender", 0)
	requireFree(t, w, corev1.DefaultSchedulerName, 2)
}

// Who binds is seen in the API server's audit log. A pod that kube-scheduler bound holds a GPU that
// Offcut has to count although it chose none.
func TestConformance18ExtenderBindsWhereItIsABinderAndInterested(t *testing.T) {
	t.Parallel()
	const kubeScheduler = "system:kube-scheduler"
	w := newWorld(t, cluster.KubeletOptions{})
	w.CreateNode("gpu", cluster.WholeA100x40(4))
	w.schedule(cluster.SchedulerOptions{Name: "binder"})
	w.schedule(cluster.SchedulerOptions{Name: "no-binder", Entry: map[string]any{"bindVerb": nil}})
	w.schedule(cluster.SchedulerOptions{
		Name: "ignorable", Timeout: bindTimeout, Entry: map[string]any{"ignorable": true},
	})
	for _, one := range []struct {
		pod  *corev1.Pod
		user string
	}{
		{by("no-binder", boundByOthers(cluster.Pod("not-a-binder", gpu, 1))), kubeScheduler},
		{by("binder", cluster.Pod("interested", gpu, 1)), cluster.OffcutUser},
		{by("binder", cluster.Pod("uninterested", "", 0)), kubeScheduler},
		{by("ignorable", boundByOthers(cluster.Pod("ignored-error", gpu, 1))), kubeScheduler},
	} {
		if one.pod.Name == "ignored-error" {
			// The bind is given up, and reaches Offcut when the pod has a node.
			w.extender.DelayNext("bind", 1, tooLate, 0)
		}
		w.runPods(t, one.pod)
		// A request is in the log a moment after it has been answered.
		cluster.Eventually(t, soon, "who bound "+one.pod.Name, func() error {
			bindings := w.BindingsOf(one.pod.Name)
			if len(bindings) != 1 || bindings[0].User.Username != one.user {
				return fmt.Errorf("%d bindings, not one by %s", len(bindings), one.user)
			}
			return nil
		})
	}
	ignored := podNamed(t, w, "ignored-error")
	waitCall(t, w.extender, "bind", ignored)
	if len(w.BindingsOf(ignored.Name)) != 1 {
		t.Errorf("%s was bound again when the late bind came", ignored.Name)
	}
	requireFree(t, w, "binder", 1)
}

func podNamed(t *testing.T, w *world, name string) *corev1.Pod {
	t.Helper()
	for _, pod := range w.Pods.All() {
		if pod.Name == name {
			return pod
		}
	}
	t.Fatalf("no pod %s", name)
	return nil
}

// Filter reads memory alone, so it answers at once whether the API server takes its time or is gone
// for Offcut. Bind needs it: no pod runs meanwhile, and none is lost.
func TestConformance44FilterAnswersWhileTheAPIServerIsSlowOrGone(t *testing.T) {
	t.Parallel()
	const slow = 2 * time.Second
	w := newWorld(t, cluster.KubeletOptions{})
	w.CreateNodes("gpu", 4, cluster.WholeA100x40(4))
	w.schedule(cluster.SchedulerOptions{})
	w.api.SetDelay(slow)
	late := cluster.Pods("slow", 4, gpu, 1)
	w.runPods(t, late...)
	w.api.SetDelay(0)

	w.api.Refuse()
	waiting := cluster.Pods("gone", 4, gpu, 1)
	w.CreatePods(waiting...)
	w.Pods.Wait(t, soon, "scheduler says that it could not bind",
		cluster.Unscheduled("SchedulerError", cluster.NamesOf(waiting)...))
	for _, pod := range slices.Concat(late, waiting) {
		for _, filter := range w.extender.CallsFor("filter", pod.UID) {
			if passed := filter.Filter(t).NodeNames; filter.Took >= slow || len(passed) == 0 {
				t.Errorf("filter of %s took %v and passed %v", pod.Name, filter.Took, passed)
			}
		}
	}
	w.api.Restore()
	w.Pods.Wait(t, soon, "pods run", cluster.Running(cluster.NamesOf(waiting)...))
	requireFree(t, w, corev1.DefaultSchedulerName, 8)
}

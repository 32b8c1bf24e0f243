package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"offcut.dev/e2e/cluster"
)

// The other extender errs after Offcut has agreed: that the pod fits must bind Offcut to nothing.
func TestConformance09ErrorOfAnExtenderEndsTheCycle(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cluster.KubeletOptions{})
	w.CreateNodes("gpu", 2, cluster.WholeA100x40(2))
	second := cluster.NewScriptedExtender(t, cluster.ScriptedOptions{Verbs: filterOnly})
	w.schedule(cluster.SchedulerOptions{After: []*cluster.ScriptedExtender{second}})
	for name, failure := range map[string]struct {
		answers cluster.Answers
		message string
	}{
		"error":  {cluster.Answers{Error: "out of order"}, "out of order"},
		"broken": {cluster.Answers{Broken: filterOnly}, "code 500"},
	} {
		second.Answer(failure.answers)
		pod := cluster.Pod(name, gpu, 1)
		text := w.messageFor(t, "SchedulerError", pod)
		if !strings.Contains(text, failure.message) {
			t.Errorf("no %q in %s", failure.message, text)
		}
		requireCalls(t, w.extender, pod, "filter")
		requireCalls(t, second.ExtenderProxy, pod, "filter")
		w.removePods(t, pod)
	}
	second.Answer(cluster.Answers{})
	requireFree(t, w, corev1.DefaultSchedulerName, 4)
}

// The first of the ignorable ones errs; Offcut and the second one still have their say. In the
// scheduler's list Offcut stands last, and is asked first: ignorable extenders go to the end.
func TestConformance09ErrorOfAnIgnorableExtenderIsSkipped(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cluster.KubeletOptions{})
	nodes := w.CreateNodes("gpu", 3, cluster.WholeA100x40(2))
	t4 := w.CreateNodes("t4", 1, cluster.WholeT4(2))
	ignorable := cluster.ScriptedOptions{Verbs: filterOnly, Ignorable: true}
	failing := cluster.NewScriptedExtender(t, ignorable)
	failing.Answer(cluster.Answers{Error: "out of order"})
	choosy := cluster.NewScriptedExtender(t, ignorable)
	choosy.Answer(cluster.Answers{Failed: because("no", nodes[0], nodes[2], t4[0])})
	w.schedule(cluster.SchedulerOptions{Before: []*cluster.ScriptedExtender{failing, choosy}})

	pod := wantsModel(cluster.Pod("pod", gpu, 1), "A100*")
	w.runPods(t, pod)
	requireNode(t, w, pod, nodes[1])
	for _, extender := range []*cluster.ScriptedExtender{failing, choosy} {
		asked := lastAsked(t, extender.CallsFor("filter", pod.UID))
		if !slices.Equal(asked, nodes) {
			t.Errorf("an ignorable extender was asked about %v; Offcut had left %v", asked, nodes)
		}
	}
	choosy.Answer(cluster.Answers{})
	requireFree(t, w, corev1.DefaultSchedulerName, 7)
}

// Offcut passes the two A100; the T4 are no model for the pods.
func TestConformance10NodeThatAnyExtenderRefusesIsOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cluster.KubeletOptions{})
	a100 := w.CreateNodes("a100", 2, cluster.WholeA100x40(2))
	t4 := w.CreateNodes("t4", 2, cluster.WholeT4(2))
	second := cluster.NewScriptedExtender(t, cluster.ScriptedOptions{Verbs: filterOnly})
	w.schedule(cluster.SchedulerOptions{After: []*cluster.ScriptedExtender{second}})
	for _, one := range []struct {
		name    string
		refused []string // by the second extender
		node    string   // "" is none
	}{
		{"all-refused", slices.Concat(a100, t4), ""},
		{"one-in-both", []string{a100[0], t4[0]}, a100[1]},
		{"none-in-both", a100, ""},
	} {
		second.Answer(cluster.Answers{Failed: because("second says no", one.refused...)})
		pod := wantsModel(cluster.Pod(one.name, gpu, 1), "A100*")
		if one.node != "" {
			w.runPods(t, pod)
			requireNode(t, w, pod, one.node)
		} else {
			text := w.messageFor(t, "Unschedulable", pod)
			if !strings.Contains(text, "2 second says no") {
				t.Errorf("%s: two nodes should be the second one's: %s", one.name, text)
			}
			requireCalls(t, w.extender, pod, "filter")
		}
		// In a chain each is asked about what the one before has left.
		if asked := lastAsked(t, second.CallsFor("filter", pod.UID)); !slices.Equal(asked, a100) {
			t.Errorf("%s: the second one was asked about %v, not %v", one.name, asked, a100)
		}
		w.removePods(t, pod)
	}

	// Nobody is asked about no node.
	pod := wantsModel(cluster.Pod("offcut-refuses-all", gpu, 1), "H100*")
	w.messageFor(t, "Unschedulable", pod)
	requireCalls(t, second.ExtenderProxy, pod)
	w.removePods(t, pod)
	second.Answer(cluster.Answers{})
	requireFree(t, w, corev1.DefaultSchedulerName, 8)
}

func TestConformance12UninterestedExtenderIsNeverAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cluster.KubeletOptions{})
	for _, node := range w.CreateNodes("gpu", 2, cluster.WholeA100x40(2)) {
		w.SetAllocatable(node, license, 4)
	}
	second := cluster.NewScriptedExtender(t, cluster.ScriptedOptions{
		Verbs: []string{"filter", "prioritize"}, Resources: []string{license},
	})
	w.schedule(cluster.SchedulerOptions{After: []*cluster.ScriptedExtender{second}})
	both := cluster.Pod("both", gpu, 1)
	both.Spec.Containers[0].Resources.Limits[license] = resource.MustParse("1")
	for _, one := range []struct {
		pod            *corev1.Pod
		offcut, second []string // the verbs that are asked
	}{
		{both, []string{"filter", "prioritize", "bind"}, []string{"filter", "prioritize"}},
		{cluster.Pod("gpu", gpu, 1), []string{"filter", "prioritize", "bind"}, nil},
		{cluster.Pod("license", license, 1), nil, []string{"filter", "prioritize"}},
		{cluster.Pod("neither", "", 0), nil, nil},
	} {
		w.runPods(t, one.pod)
		requireCalls(t, w.extender, one.pod, one.offcut...)
		requireCalls(t, second.ExtenderProxy, one.pod, one.second...)
	}
	requireFree(t, w, corev1.DefaultSchedulerName, 2)
}

// How many nodes kube-scheduler looks at, only its log says. When nobody filters or scores, the
// first node that in-tree plugins find will do, and Offcut, which is asked to bind alone, has never
// heard of the pod.
func TestConformance13WithoutScoresSeveralNodesAreLookedAtOnlyForExtendersThatFilter(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cluster.KubeletOptions{})
	nodes := w.CreateNodes("gpu", 3, cluster.WholeA100x40(2))
	filtering := w.schedule(cluster.SchedulerOptions{
		Name: "filtering", NoScores: true,
		Entry: map[string]any{"prioritizeVerb": nil, "preemptVerb": nil},
	})
	binding := w.schedule(cluster.SchedulerOptions{
		Name: "binding", NoScores: true,
		Entry: map[string]any{"filterVerb": nil, "prioritizeVerb": nil, "preemptVerb": nil},
	})
	filtered := by("filtering", cluster.Pod("filtered", gpu, 1))
	unheard := by("binding", cluster.Pod("unheard", gpu, 1))
	w.runPods(t, filtered, unheard)
	requireCalls(t, w.extender, filtered, "filter", "bind")
	requireCalls(t, w.extender, unheard, "bind")
	asked := lastAsked(t, w.extender.CallsFor("filter", filtered.UID))
	if !slices.Equal(asked, nodes) {
		t.Errorf("Offcut was asked about %v, not %v", asked, nodes)
	}
	waitEvaluated(t, filtering, filtered, len(nodes))
	waitEvaluated(t, binding, unheard, 1)

	// Nobody but bind can refuse here, and must.
	misplaced := by("binding", wantsModel(cluster.Pod("misplaced", gpu, 1), "H100*"))
	w.messageFor(t, "SchedulerError", misplaced)
	if refusal := waitCall(t, w.extender, "bind", misplaced); refusal.BindError(t) == "" {
		t.Error("a pod was bound to a model that it does not want")
	}
	w.removePods(t, misplaced)
	requireFree(t, w, "filtering", 4)
}

// The line is written after the pod was bound.
func waitEvaluated(t *testing.T, scheduler *cluster.Scheduler, pod *corev1.Pod, count int) {
	t.Helper()
	what := fmt.Sprintf("%d nodes evaluated for %s", count, pod.Name)
	cluster.Eventually(t, soon, what, func() error {
		lines := scheduler.LogLines("Successfully bound pod to node", "default/"+pod.Name+`"`)
		if len(lines) == 0 {
			return errNotYet
		}
		if !strings.Contains(lines[0]+" ", fmt.Sprintf("evaluatedNodes=%d ", count)) {
			return fmt.Errorf("it says %s", lines[0])
		}
		return nil
	})
}

// The key counts, not the number. That a request without a limit counts too cannot be shown: the
// API server takes no such pod.
func TestConformance14InterestIsAnyMentionOfAManagedResource(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cluster.KubeletOptions{})
	w.CreateNodes("gpu", 2, cluster.WholeA100x40(2))
	w.CreateNode("cpu", cluster.CPUOnly())
	everybodys := cluster.NewScriptedExtender(t, cluster.ScriptedOptions{Verbs: filterOnly})
	w.schedule(cluster.SchedulerOptions{After: []*cluster.ScriptedExtender{everybodys}})

	requesting := cluster.Pod("request", gpu, 1)
	requesting.Spec.Containers[0].Resources.Requests =
		requesting.Spec.Containers[0].Resources.Limits.DeepCopy()
	zero := cluster.Pod("zero", gpu, 0)
	initZero := cluster.Pod("init-zero", "", 0)
	initZero.Spec.InitContainers = zero.DeepCopy().Spec.Containers
	initZero.Spec.InitContainers[0].Name = "init"
	for _, one := range []struct {
		pod          *corev1.Pod
		isInterested bool
	}{
		{requesting, true},
		{cluster.Pod("limit", gpu, 1), true},
		{zero, true},
		{initZero, true},
		{cluster.Pod("none", "", 0), false},
	} {
		w.runPods(t, one.pod)
		var verbs []string
		if one.isInterested {
			verbs = []string{"filter", "prioritize", "bind"}
		}
		requireCalls(t, w.extender, one.pod, verbs...)
		requireCalls(t, everybodys.ExtenderProxy, one.pod, "filter")
	}
	requireFree(t, w, corev1.DefaultSchedulerName, 2)
}

package e2e

import (
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"offcut.dev/e2e/cluster"
)

// Points of an extender count 10 x weight (extender.go). Offcut prefers `used`, where a GPU is
// taken, to `empty`; the other extender and a preferred node affinity (200 points) speak for
// `empty`. The other default scorers see two nodes that are alike.
func TestConformance11WeightedScoresDecideAndAFailingScorerCountsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cluster.KubeletOptions{})
	w.CreateNode("used", cluster.WholeA100x40(4))
	w.CreateNode("empty", cluster.WholeA100x40(4))
	verbs := []string{"filter", "prioritize"}
	light := cluster.NewScriptedExtender(t, cluster.ScriptedOptions{Verbs: verbs, Weight: 1})
	heavy := cluster.NewScriptedExtender(t, cluster.ScriptedOptions{Verbs: verbs, Weight: 15})
	w.schedule(cluster.SchedulerOptions{
		Name: "offcut-15", After: []*cluster.ScriptedExtender{light},
	})
	w.schedule(cluster.SchedulerOptions{
		Name: "offcut-1", After: []*cluster.ScriptedExtender{heavy},
		Entry: map[string]any{"weight": 1},
	})
	w.runPods(t, by("offcut-15", onNode(cluster.Pod("holder", gpu, 1), "used")))

	full := cluster.Answers{Scores: map[string]int64{"empty": 10}}
	broken := cluster.Answers{Scores: full.Scores, Broken: []string{"prioritize"}}
	for _, one := range []struct {
		name, scheduler string
		second          cluster.Answers
		isAttracted     bool // by the affinity
		node            string
	}{
		{"offcut-outweighs", "offcut-15", full, false, "used"},
		{"second-outweighs", "offcut-1", full, false, "empty"},
		{"second-fails", "offcut-1", broken, false, "used"},
		{"in-tree-outweighs", "offcut-1", cluster.Answers{}, true, "empty"},
		{"offcut-outweighs-in-tree", "offcut-15", cluster.Answers{}, true, "used"},
	} {
		light.Answer(one.second)
		heavy.Answer(one.second)
		pod := by(one.scheduler, cluster.Pod(one.name, gpu, 1))
		if one.isAttracted {
			prefer(pod, "empty")
		}
		w.runPods(t, pod)
		requireNode(t, w, pod, one.node)
		requireCalls(t, w.extender, pod, "filter", "prioritize", "bind")
		w.removePods(t, pod)
	}

	// There is nothing to choose: nobody is asked for scores.
	single := by("offcut-1", onNode(cluster.Pod("single", gpu, 1), "empty"))
	w.runPods(t, single)
	requireCalls(t, w.extender, single, "filter", "bind")
	requireCalls(t, heavy.ExtenderProxy, single, "filter")
	requireFree(t, w, "offcut-15", 6)
}

// In-tree NodeAffinity gives such a node 100 points, twice.
func prefer(pod *corev1.Pod, node string) {
	pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{
			Weight: 100,
			Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{
				Key: "kubernetes.io/hostname", Operator: corev1.NodeSelectorOpIn,
				Values: []string{node},
			}}},
		}},
	}}
}

// The scheduler keeps the points for each extender in memory, and says so in its log at level 10:
//
//	"Plugin scored node for pod" pod="default/scored" plugin="NodeAffinity" node="used" score=0
//	"Extender scored node for pod" pod="default/scored" extender="http://..." node="used" score=10
//	"Calculated node's final score for pod" pod="default/scored" node="used" score=1862
func TestConformance19PointsOfEachExtenderAreRecordedAndAddedToTheTotal(t *testing.T) {
	t.Parallel()
	const offcutWeight, secondWeight = 15, 3
	w := newWorld(t, cluster.KubeletOptions{})
	w.CreateNode("used", cluster.WholeA100x40(4))
	w.CreateNode("empty", cluster.WholeA100x40(4))
	second := cluster.NewScriptedExtender(t, cluster.ScriptedOptions{
		Verbs: []string{"prioritize"}, Weight: secondWeight,
	})
	second.Answer(cluster.Answers{Scores: map[string]int64{"used": 2, "empty": 7}})
	scheduler := w.schedule(cluster.SchedulerOptions{
		After: []*cluster.ScriptedExtender{second}, Flags: []string{"-v=10"},
	})
	w.runPods(t, onNode(cluster.Pod("holder", gpu, 1), "used"))
	pod := cluster.Pod("scored", gpu, 1)
	w.runPods(t, pod)
	requireNode(t, w, pod, "used")

	offcuts := scoresOf(t, w.extender, pod)
	if offcuts["used"] == offcuts["empty"] {
		t.Fatalf("Offcut sees no difference: %v", offcuts)
	}
	seconds := scoresOf(t, second.ExtenderProxy, pod)
	for _, one := range []struct {
		extender *cluster.ExtenderProxy
		scores   map[string]int64
	}{{w.extender, offcuts}, {second.ExtenderProxy, seconds}} {
		logged := loggedScores(t, scheduler, "Extender scored node", pod, one.extender.Address())
		if !maps.Equal(logged, one.scores) {
			t.Errorf("%v were recorded for answers of %v", logged, one.scores)
		}
	}
	plugins := loggedScores(t, scheduler, "Plugin scored node", pod, "")
	total := loggedScores(t, scheduler, "Calculated node's final score", pod, "")
	for _, node := range []string{"used", "empty"} {
		want := plugins[node] + 10*(offcutWeight*offcuts[node]+secondWeight*seconds[node])
		if total[node] != want {
			t.Errorf("the total of %s is %d; plugins and extenders together are %d", node,
				total[node], want)
		}
	}
	requireFree(t, w, corev1.DefaultSchedulerName, 6)
}

// What the extender answered to the one question for scores.
func scoresOf(t *testing.T, extender *cluster.ExtenderProxy, pod *corev1.Pod) map[string]int64 {
	t.Helper()
	scores := map[string]int64{}
	calls := extender.CallsFor("prioritize", pod.UID)
	if len(calls) != 1 {
		t.Fatalf("%d questions for scores of %s, not one", len(calls), pod.Name)
	}
	for _, score := range calls[0].Scores(t) {
		scores[score.Host] = score.Score
	}
	return scores
}

// The points in such lines about the pod, by node. The lines are there before the pod is bound.
func loggedScores(t *testing.T, scheduler *cluster.Scheduler, event string, pod *corev1.Pod,
	text string) map[string]int64 {
	t.Helper()
	pattern := regexp.MustCompile(`node="([^"]+)" score=(-?\d+)$`)
	scores := map[string]int64{}
	about := fmt.Sprintf(`pod="default/%s"`, pod.Name)
	for _, line := range scheduler.LogLines(event, about, text) {
		match := pattern.FindStringSubmatch(line)
		if match == nil {
			t.Fatalf("no score in %s", line)
		}
		points, err := strconv.ParseInt(match[2], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		scores[match[1]] += points
	}
	if len(scores) == 0 {
		t.Fatalf("no line %q about %s", event, pod.Name)
	}
	return scores
}

package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"offcut.dev/e2e/cluster"
)

var preemptOnly = []string{"preempt"}

// The cases 20 to 28: kube-scheduler's own tests of preemption beside extenders
// (pkg/scheduler/framework/preemption/preemption_test.go, and the integration test of
// kubernetes/kubernetes#135486, which is in no release yet). That answers to preempt hold no null
// and keep the scheduler's victims, cases 32 and 33, is in test/api/conformance_test.cc.

// Of three more extenders one supports no preemption, one has no business with these pods, and one
// has business with all.
func TestConformance20PreemptIsAskedOfWhoeverSupportsItAndOnlyAboutCandidates(t *testing.T) {
	t.Parallel()
	w := newPreemptionWorld(t)
	w.CreateNode("gpu", cluster.WholeA100x40(1))
	w.CreateNode("cpu", cluster.CPUOnly())
	filtering := cluster.NewScriptedExtender(t, cluster.ScriptedOptions{Verbs: filterOnly})
	uninterested := cluster.NewScriptedExtender(t, cluster.ScriptedOptions{
		Verbs: preemptOnly, Resources: []string{license},
	})
	everybodys := cluster.NewScriptedExtender(t, cluster.ScriptedOptions{Verbs: preemptOnly})
	others := []*cluster.ScriptedExtender{filtering, uninterested, everybodys}
	w.schedule(cluster.SchedulerOptions{Name: "asks", After: others})
	w.schedule(cluster.SchedulerOptions{
		Name: "asks-not", After: others, Entry: map[string]any{"preemptVerb": nil},
	})
	w.runPods(t, by("asks", withPriority(cluster.Pod("low", gpu, 1), "low")),
		by("asks", onNode(cpuPod("cpu-low", "60", "low"), "cpu")))

	alike := by("asks", withPriority(cluster.Pod("alike", gpu, 1), "low"))
	w.preemptsNobody(t, alike) // nobody is of lower priority: there is no candidate
	requireCalls(t, w.extender, alike)
	requireCalls(t, everybodys.ExtenderProxy, alike)
	w.removePods(t, alike)

	for _, one := range []struct {
		pod    *corev1.Pod
		victim string
		offcut []string // the verbs that are asked
	}{
		{by("asks-not", withPriority(cluster.Pod("middle", gpu, 1), "middle")), "low",
			[]string{"filter", "bind"}},
		{by("asks", withPriority(cluster.Pod("high", gpu, 1), "high")), "middle",
			[]string{"filter", "preempt", "bind"}},
		{by("asks", onNode(cpuPod("cpu-high", "60", "high"), "cpu")), "cpu-low", nil},
	} {
		requireGone(t, w.preempts(t, one.pod), one.victim)
		requireCalls(t, w.extender, one.pod, one.offcut...)
		requireCalls(t, filtering.ExtenderProxy, one.pod, "filter")
		requireCalls(t, uninterested.ExtenderProxy, one.pod)
		requireCalls(t, everybodys.ExtenderProxy, one.pod, "preempt")
	}
	requireHolders(t, w)
	w.offcut.RequireLedgerEqualsRebuild()
}

func cpuPod(name, cpus, priority string) *corev1.Pod {
	return withCPU(withPriority(cluster.Pod(name, "", 0), priority), cpus)
}

func withCPU(pod *corev1.Pod, cpus string) *corev1.Pod {
	requested := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpus)}
	pod.Spec.Containers[0].Resources.Requests = requested
	return pod
}

type victimsByNode = map[string]cluster.MetaVictims

func keepOnly(node string) cluster.Choose {
	return func(proposed victimsByNode) victimsByNode {
		maps.DeleteFunc(proposed, func(name string, _ cluster.MetaVictims) bool {
			return name != node
		})
		return proposed
	}
}

func emptied(node string) cluster.Choose {
	return func(proposed victimsByNode) victimsByNode {
		proposed[node] = cluster.MetaVictims{Pods: []cluster.MetaPod{}}
		return proposed
	}
}

// Two nodes of one GPU and one victim each; the victim on `cheap` has the lower priority. Each
// extender after Offcut has its say on what Offcut has left. One that may be ignored stands in
// another scheduler's list.
func TestConformance21And22And26ExtendersInTurnRestrictTheVictims(t *testing.T) {
	t.Parallel()
	w := newPreemptionWorld(t)
	w.CreateNode("cheap", cluster.WholeA100x40(1))
	w.CreateNode("dear", cluster.WholeA100x40(1))
	seconds := map[string]*cluster.ScriptedExtender{}
	for _, name := range []string{"strict", "ignorable"} {
		seconds[name] = cluster.NewScriptedExtender(t, cluster.ScriptedOptions{
			Verbs: preemptOnly, Ignorable: name == "ignorable",
		})
		w.schedule(cluster.SchedulerOptions{
			Name: name, After: []*cluster.ScriptedExtender{seconds[name]},
		})
	}
	for _, one := range []struct {
		name, second string
		answers      cluster.Answers
		node         string // whose victim goes; "" is none
	}{
		{"passes", "strict", cluster.Answers{}, "cheap"},
		{"restricts", "strict", cluster.Answers{Victims: keepOnly("dear")}, "dear"},
		{"omits", "strict", cluster.Answers{Victims: keepOnly("none")}, ""},
		{"empties", "strict", cluster.Answers{Victims: emptied("cheap")}, ""},
		{"fails", "strict", cluster.Answers{Broken: preemptOnly}, ""},
		{"ignorably-empties", "ignorable", cluster.Answers{Victims: emptied("cheap")}, "dear"},
		{"ignorably-fails", "ignorable", cluster.Answers{Broken: preemptOnly}, "cheap"},
	} {
		second := seconds[one.second]
		second.Answer(one.answers)
		victims := w.runVictims(t, one.second, one.name)
		high := by(one.second, withPriority(cluster.Pod("high-"+one.name, gpu, 1), "high"))
		if one.node == "" {
			w.preemptsNobody(t, high)
		} else {
			requireGone(t, w.preempts(t, high), victims[one.node].Name)
			requireNode(t, w, high, one.node)
		}
		want := waitCall(t, w.extender, "preempt", high).Preempted(t)
		requireVictims(t, waitCall(t, second.ExtenderProxy, "preempt", high).Question(t), want)
		rest := slices.DeleteFunc(slices.Collect(maps.Values(victims)), func(pod *corev1.Pod) bool {
			return slices.Contains(w.evicted(), pod.Name)
		})
		w.removePods(t, append(rest, high)...)
	}

	// Offcut leaves out both nodes, for the pod wants a model that neither has: nobody else is asked.
	w.runVictims(t, "strict", "model")
	picky := wantsModel(by("strict", withPriority(cluster.Pod("picky", gpu, 1), "high")), "H100*")
	w.preemptsNobody(t, picky)
	if kept := waitCall(t, w.extender, "preempt", picky).Preempted(t); len(kept) != 0 {
		t.Errorf("victims on nodes of another model: %v", kept)
	}
	requireCalls(t, seconds["strict"].ExtenderProxy, picky)
	w.offcut.RequireLedgerEqualsRebuild()
}

// Runs a victim on each of the two nodes, and returns it by the node's name.
func (w *world) runVictims(t *testing.T, scheduler, suffix string) map[string]*corev1.Pod {
	t.Helper()
	low := withPriority(cluster.Pod("low-"+suffix, gpu, 1), "low")
	middle := withPriority(cluster.Pod("middle-"+suffix, gpu, 1), "middle")
	w.runPods(t, by(scheduler, onNode(low, "cheap")), by(scheduler, onNode(middle, "dear")))
	return map[string]*corev1.Pod{"cheap": low, "dear": middle}
}

// Quota is what only Offcut sees: blue may use one GPU of the two. No version here asks about such
// a pod: the scheduler sees room, so it names no victim and calls no verb. A later one (PR 135486)
// is going to ask with an empty list. Here the test sends what it would send, in both forms, and
// does what it would do with the answer. An extender before Offcut that has no victim to add passes
// the same empty list on (case 27).
func TestConformance23PlaceholderIsFilledWithWhomOnlyOffcutSees(t *testing.T) {
	t.Parallel()
	w := newPreemptionWorld(t, "--policy="+writePolicy(t, `
scheduler: {refusals: preemptable}
tenants: [{name: blue, namespaces: [blue], quotas: [{pool: "*", guarantee: {devices: 1}}]}]
`))
	w.CreateNamespaces("blue")
	w.CreateNode("n", cluster.WholeA100x40(2))
	w.CreateNode("other", cluster.WholeA100x40(1))
	w.schedule(cluster.SchedulerOptions{})
	low := in("blue", onNode(withPriority(cluster.Pod("low", gpu, 1), "low"), "n"))[0]
	w.runPods(t, low)
	high := in("blue", withPriority(cluster.Pod("high", gpu, 1), "high"))[0]
	w.preemptsNobody(t, high)
	requireCalls(t, w.extender, high, "filter")
	// On the other node nobody of blue's could go.
	if refused := lastFilter(t, w, high).FailedNodes; len(refused) != 1 || refused["n"] == "" {
		t.Errorf("refused for now are %v, not n", refused)
	}

	want := victimsByNode{"n": {Pods: []cluster.MetaPod{{UID: low.UID}}}}
	asked := w.extender.CallsFor("filter", high.UID)[0].Request
	for _, form := range []string{"NodeNameToMetaVictims", "NodeNameToVictims"} {
		got := w.askWithPlaceholders(t, asked, form, "n", "other")
		if !maps.EqualFunc(got, want, sameVictims) {
			t.Errorf("%s: the victims are %v, not %v", form, got, want)
		}
	}
	w.DeletePodsIn("blue", low.Name)
	w.Pods.Wait(t, soon, "the preemptor runs", cluster.Running(high.Name))
	w.offcut.RequireLedgerEqualsRebuild()
}

// Asks Offcut for victims of the pod of that filter call, on nodes where none are known.
func (w *world) askWithPlaceholders(t *testing.T, filter []byte, form string,
	nodes ...string) victimsByNode {
	t.Helper()
	var asked struct{ Pod json.RawMessage }
	if err := json.Unmarshal(filter, &asked); err != nil {
		t.Fatal(err)
	}
	empty := victimsByNode{} // an empty one is printed alike in both forms
	for _, node := range nodes {
		empty[node] = cluster.MetaVictims{}
	}
	arguments := map[string]any{
		"Pod": asked.Pod, "NodeNameToVictims": nil, "NodeNameToMetaVictims": nil,
	}
	arguments[form] = empty
	body, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.Post("http://"+w.extender.Address()+"/v1/preempt", "application/json",
		bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return cluster.Call{Verb: "preempt", Status: response.StatusCode, Response: text}.Preempted(t)
}

// The node lacks CPU, which kube-scheduler sees, and blue has used up its one GPU, which Offcut
// sees: 96 CPUs less 90 are too few for 60. So each of the two names one victim, and both go. An
// extender before Offcut passes on what came, one after it sees both victims. In both forms: names
// and UIDs, or whole nodes and pods.
func TestConformance24And27And28VictimsOfSeveralExtendersGoTogether(t *testing.T) {
	t.Parallel()
	policy := newPolicyFile(t, tenant{name: "blue", guarantee: 1})
	w := newPreemptionWorld(t, "--policy="+policy.path)
	w.CreateNamespaces("blue")
	w.CreateNode("n", cluster.WholeA100x40(2))
	for form, wholeNodes := range map[string]bool{"names": false, "whole": true} {
		options := cluster.ScriptedOptions{Verbs: preemptOnly, WholeNodes: wholeNodes}
		first := cluster.NewScriptedExtender(t, options)
		last := cluster.NewScriptedExtender(t, options)
		w.schedule(cluster.SchedulerOptions{
			Name: form, WholeNodes: wholeNodes,
			Before: []*cluster.ScriptedExtender{first}, After: []*cluster.ScriptedExtender{last},
		})
		onCPU := by(form, cpuPod("cpu-"+form, "90", "middle"))
		onGPU := in("blue", by(form, withPriority(cluster.Pod("low-"+form, gpu, 1), "low")))[0]
		w.runPods(t, onCPU, onGPU)
		high := in("blue", by(form, withPriority(cluster.Pod("high-"+form, gpu, 1), "high")))[0]
		gone := w.preempts(t, withCPU(high, "60"))
		if want := cluster.NamesOf([]*corev1.Pod{onCPU, onGPU}); !slices.Equal(gone, want) {
			t.Errorf("evicted %v, want %v", gone, want)
		}
		inTree, both := victimsOn("n", onCPU.UID), victimsOn("n", onCPU.UID, onGPU.UID)
		requireVictims(t, waitCall(t, first.ExtenderProxy, "preempt", high).Question(t), inTree)
		requireVictims(t, waitCall(t, w.extender, "preempt", high).Question(t), inTree)
		requireVictims(t, waitCall(t, last.ExtenderProxy, "preempt", high).Question(t), both)
		w.DeletePodsIn("blue", high.Name)
		w.Pods.Wait(t, soon, "preemptor is gone", cluster.Gone(high.Name))
		requireHolders(t, w)
	}
	w.offcut.RequireLedgerEqualsRebuild()
}

func victimsOn(node string, uids ...types.UID) victimsByNode {
	victims := cluster.MetaVictims{}
	for _, uid := range uids {
		victims.Pods = append(victims.Pods, cluster.MetaPod{UID: uid})
	}
	return victimsByNode{node: victims}
}

// Without Offcut's word nobody is evicted. Where its entry says `ignorable`, kube-scheduler goes on
// with the victim of its own, which may be in vain; that is why the shipped entry does not say so.
// Later versions ask with placeholders, and where nobody fills them nobody goes in either case.
func TestConformance25PreemptThatFailsOrIsLateEvictsNobodyUnlessItMayBeIgnored(t *testing.T) {
	t.Parallel()
	const timeout = 4 * time.Second
	w := newPreemptionWorld(t)
	w.CreateNode("n", cluster.WholeA100x40(2))
	for scheduler, ignorable := range map[string]bool{"strict": false, "ignorable": true} {
		w.schedule(cluster.SchedulerOptions{
			Name: scheduler, Timeout: timeout, Entry: map[string]any{"ignorable": ignorable},
		})
	}
	w.runPods(t, by("strict", withPriority(cluster.Pod("other", gpu, 1), "middle")))
	for _, one := range []struct {
		name, scheduler string
		isLate          bool
	}{
		{"strict-broken", "strict", false}, {"strict-late", "strict", true},
		{"ignorable-broken", "ignorable", false}, {"ignorable-late", "ignorable", true},
	} {
		const attempts = 1000 // more than there will be
		w.extender.Break("preempt", !one.isLate)
		if one.isLate {
			w.extender.DelayNext("preempt", attempts, 3*timeout/2, 0)
		}
		low := by(one.scheduler, withPriority(cluster.Pod("low-"+one.name, gpu, 1), "low"))
		w.runPods(t, low)
		high := by(one.scheduler, withPriority(cluster.Pod("high-"+one.name, gpu, 1), "high"))
		if one.scheduler == "strict" {
			w.preemptsNobody(t, high)
			w.removePods(t, low, high)
		} else {
			requireGone(t, w.preempts(t, high), low.Name)
			w.removePods(t, high)
		}
		waitCall(t, w.extender, "preempt", high)
		w.extender.DelayNext("preempt", 0, 0, 0)
	}
	w.offcut.RequireLedgerEqualsRebuild()
}

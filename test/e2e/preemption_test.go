package e2e

import (
	"testing"
	"time"

	"offcut.dev/e2e/cluster"
)

// The scheduler sees the victim gone and offers the node again; Offcut, a second behind,
// refuses it. The scheduler then looks for a second victim, which nobody needs.
func TestPreemptorEvictsNobodyElseWhileOffcutsWatchLags(t *testing.T) {
	t.Parallel()
	w := newPreemptionWorld(t)
	w.CreateNode("cheap", cluster.WholeA100x40(1))
	w.CreateNode("dear", cluster.WholeA100x40(1))
	w.schedule(cluster.SchedulerOptions{})
	low := onNode(withPriority(cluster.Pod("low", gpu, 1), "low"), "cheap")
	middle := onNode(withPriority(cluster.Pod("middle", gpu, 1), "middle"), "dear")
	w.runPods(t, low, middle)
	w.api.SetDelay(time.Second)
	high := withPriority(cluster.Pod("high", gpu, 1), "high")
	w.runPods(t, high)
	requireNode(t, w, high, "cheap")
	w.api.SetDelay(0)

	met := false // the second attempt that must evict nobody
	for _, call := range w.extender.CallsFor("preempt", high.UID) {
		met = met || len(call.Preempted(t)) == 0
	}
	if !met {
		t.Error("the scheduler looked for no second victim: this test met no lag")
	}
	w.Pods.Wait(t, soon, "the other pod still runs", cluster.Running(middle.Name))
	w.offcut.RequireLedgerEqualsRebuild()
}

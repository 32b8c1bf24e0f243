package e2e

import (
	"slices"
	"testing"
	"time"

	"offcut.dev/e2e/cluster"
)

// Filter reads memory alone. One that asked the API server would take 2 s each time.
func TestFilterIsAsFastWhileTheAPIServerIsSlow(t *testing.T) {
	const slow = 2 * time.Second
	w := newWorld(t, cluster.KubeletOptions{})
	w.CreateNodes("whole", 40, cluster.WholeA100x40(8))
	w.schedule(cluster.SchedulerOptions{})
	w.runPods(t, cluster.Pods("before", 20, "nvidia.com/gpu", 1)...)
	before := w.extender.Calls("filter")
	w.api.SetDelay(slow)
	w.runPods(t, cluster.Pods("slow", 20, "nvidia.com/gpu", 1)...)
	after := w.extender.Calls("filter")[len(before):]

	t.Logf("median of filter: %v before, %v while slow", median(before), median(after))
	for _, call := range after {
		if call.Took >= slow {
			t.Errorf("filter of %s took %v", call.Pod, call.Took)
		}
	}
	cluster.Eventually(t, soon, "a bind that met the slow API server", func() error {
		for _, bind := range w.extender.Calls("bind") { // a call is there once it has been answered
			if bind.Took >= slow && bind.BindError(t) == "" {
				return nil
			}
		}
		return errNotYet
	})
}

func median(calls []cluster.Call) time.Duration {
	var took []time.Duration
	for _, call := range calls {
		took = append(took, call.Took)
	}
	slices.Sort(took)
	return took[len(took)/2]
}

package e2e

import (
	"math/rand/v2"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"offcut.dev/e2e/cluster"
)

// 30 waves of 10 pods; at a random moment of each Offcut is killed and started again. 280 devices
// for 300 pods: 20 must stay Pending, and say so.
func TestKilledThirtyTimesOffcutGivesNoDeviceTwiceAndLosesNoPod(t *testing.T) {
	t.Parallel()
	const kills, pods, devices = 30, 300, 280
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	w := newWorld(t, cluster.KubeletOptions{})
	createFortyNodes(w, 2)
	w.schedule(cluster.SchedulerOptions{})

	all := crowd(pods - 80)
	for i := range kills {
		w.CreatePods(all[i*pods/kills : (i+1)*pods/kills]...)
		time.Sleep(time.Duration(random.Int64N(int64(500 * time.Millisecond)))) // the random moment
		w.offcut.Kill()
		w.offcut.Start()
	}
	w.Pods.Wait(t, long, "every pod is bound or honestly Pending", func(now []*corev1.Pod) bool {
		running, refused := 0, 0
		for _, pod := range now {
			if pod.Status.Phase == corev1.PodRunning {
				running++
			} else if cluster.ScheduledCondition(pod).Reason == "Unschedulable" {
				refused++
			}
		}
		return running == devices && refused == pods-devices
	})
	w.offcut.RequireLedgerEqualsRebuild()
}

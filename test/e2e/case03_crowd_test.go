package e2e

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"offcut.dev/e2e/cluster"
)

func TestThreeHundredPodsAtOnceTakeEveryDeviceOnce(t *testing.T) {
	t.Parallel()
	requireCrowdFits(t, corev1.DefaultSchedulerName)
}

// Each scheduler knows nothing of what the other is about to bind.
func TestTwoSchedulersAtOnceTakeEveryDeviceOnce(t *testing.T) {
	t.Parallel()
	requireCrowdFits(t, "first", "second")
}

// That no device is given twice, the device check watches; 300 pods that run on 300 devices have
// used them all.
func requireCrowdFits(t *testing.T, schedulers ...string) {
	w := newWorld(t, cluster.KubeletOptions{})
	createFortyNodes(w, 3)
	pods := crowd(220)
	for i, pod := range pods {
		pod.Spec.SchedulerName = schedulers[i%len(schedulers)]
	}
	w.CreatePods(pods...)
	for _, name := range schedulers { // now: each finds all pods waiting
		w.schedule(cluster.SchedulerOptions{Name: name})
	}
	w.Pods.Wait(t, long, "all pods run", cluster.Running(cluster.NamesOf(pods)...))
	w.offcut.RequireLedgerEqualsRebuild()
}

// Forty nodes: 80 whole GPUs, 80 time-sliced slots, 80 MIG instances (40 1g.5gb, 20 2g.10gb, 20
// 3g.20gb), and 20 MPS slots for each slot that an L40S has.
func createFortyNodes(w *world, mpsSlots int) {
	w.CreateNodes("whole", 10, cluster.WholeA100x40(8))
	w.CreateNodes("sliced", 10, cluster.TimeSlicedT4(2, 4))
	w.CreateNodes("mixed", 10, cluster.MixedA100())
	w.CreateNodes("mps", 10, cluster.MPSL40S(2, mpsSlots))
}

// So many pods of a GPU or slot, and one for each instance of createFortyNodes, interleaved.
func crowd(plain int) []*corev1.Pod {
	groups := [][]*corev1.Pod{
		cluster.Pods("gpu", plain, "nvidia.com/gpu", 1),
		cluster.Pods("small", 40, "nvidia.com/mig-1g.5gb", 1),
		cluster.Pods("medium", 20, "nvidia.com/mig-2g.10gb", 1),
		cluster.Pods("large", 20, "nvidia.com/mig-3g.20gb", 1),
	}
	var pods []*corev1.Pod
	for i := range plain {
		for _, group := range groups {
			if i < len(group) {
				pods = append(pods, group[i])
			}
		}
	}
	return pods
}

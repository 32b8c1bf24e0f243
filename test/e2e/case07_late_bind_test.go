package e2e

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"offcut.dev/e2e/cluster"
)

// Longer than the scheduler waits in these tests.
const (
	bindTimeout = 2 * time.Second
	tooLate     = 4 * time.Second
)

// The scheduler gives the bind up although it was done.
func TestPodIsBoundOnceWhenTheReplyComesTooLate(t *testing.T) {
	t.Parallel()
	requireBoundOnce(t, 0, tooLate)
}

// The scheduler gives the bind up and tries again, perhaps elsewhere; then the first request
// arrives after all.
func TestPodIsBoundOnceWhenTheRequestComesTooLate(t *testing.T) {
	t.Parallel()
	requireBoundOnce(t, tooLate, 0)
}

func requireBoundOnce(t *testing.T, request, reply time.Duration) {
	w := newWorld(t, cluster.KubeletOptions{})
	w.CreateNodes("whole", 4, cluster.WholeA100x40(8))
	w.schedule(cluster.SchedulerOptions{Timeout: bindTimeout})
	pods := cluster.Pods("late", 8, "nvidia.com/gpu", 1)
	w.extender.DelayNext("bind", len(pods), request, reply)
	w.runPods(t, pods...)
	// All that was under way arrives within this time; a pod that moved fails the test by itself.
	w.Pods.Within(2*tooLate, func(pods []*corev1.Pod) bool { return bound(pods) != len(pods) })
	for _, pod := range pods {
		if bindings := w.BindingsOf(pod.Name); len(bindings) != 1 {
			t.Errorf("%s was bound %d times", pod.Name, len(bindings))
		}
	}
	if calls := len(w.extender.Calls("bind")); calls < len(pods) {
		t.Errorf("%d bind calls for %d pods", calls, len(pods))
	}
	w.offcut.RequireLedgerEqualsRebuild()
}

// Two schedulers, one instance, and a volume for each pod that takes a second to bind, between
// filter and bind. A pod is done after another second and frees the instance for the next. Whoever
// is refused at bind has waited for its volume in vain.
func TestSlowVolumesCauseHardlyAnyBindConflict(t *testing.T) {
	t.Parallel()
	const pods, conflictsPerHundred = 30, 1
	w := newWorld(t, cluster.KubeletOptions{CompleteAfter: time.Second})
	w.CreateNode("mixed", cluster.OneInstanceA100())
	w.CreateSlowVolumes("volume", pods, time.Second)
	names := cluster.Names("pod", pods)
	var created []*corev1.Pod
	for i, volume := range cluster.Names("volume", pods) {
		pod := cluster.Pod(names[i], "nvidia.com/mig-3g.20gb", 1)
		pod.Spec.SchedulerName = []string{"first", "second"}[i%2]
		pod.Spec.Volumes = []corev1.Volume{{Name: "slow", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: volume},
		}}}
		created = append(created, pod)
	}
	w.CreatePods(created...)
	w.schedule(cluster.SchedulerOptions{Name: "first"})
	w.schedule(cluster.SchedulerOptions{Name: "second"})
	w.Pods.Wait(t, long, "all pods are done", func(now []*corev1.Pod) bool {
		done := 0
		for _, pod := range now {
			if pod.Status.Phase == corev1.PodSucceeded {
				done++
			}
		}
		return done == pods
	})
	binds := w.extender.Calls("bind")
	conflicts := 0
	for _, bind := range binds {
		if bind.BindError(t) != "" {
			conflicts++
		}
	}
	t.Logf("%d binds, %d conflicts", len(binds), conflicts)
	if conflicts*100 > len(binds)*conflictsPerHundred {
		t.Errorf("%d of %d binds conflicted, %d %% at most", conflicts, len(binds), conflictsPerHundred)
	}
}

package e2e

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"offcut.dev/e2e/cluster"
)

// Its five pods live on, so three GPUs are free on the new one of eight.
func TestNodeMadeAgainUnderItsNameKeepsItsPodsDevices(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cluster.KubeletOptions{})
	w.CreateNode("whole", cluster.WholeA100x40(8))
	w.schedule(cluster.SchedulerOptions{})
	holders := cluster.Pods("holder", 5, "nvidia.com/gpu", 1)
	w.runPods(t, holders...)
	w.DeleteNode("whole")
	w.CreateNode("whole", cluster.WholeA100x40(8))
	w.offcut.RequireLedgerEqualsRebuild()

	w.CreatePods(cluster.Pods("newcomer", 8, "nvidia.com/gpu", 1)...)
	w.Pods.Wait(t, soon, "three find room, five wait", func(pods []*corev1.Pod) bool {
		return running(pods) == 8 && refused(pods) == 5
	})
	w.DeletePods(cluster.NamesOf(holders)...)
	w.Pods.Wait(t, soon, "all newcomers run", cluster.Running(cluster.Names("newcomer", 8)...))
	w.offcut.RequireLedgerEqualsRebuild()
}

// Two T4 in four slots each, one slot taken; then the sharing ends. One GPU is still shared with
// the old pod, so of two pods that want a whole one, one gets the other GPU.
func TestGPUTakenOutOfSharingIsNotGivenWholeBesideAnOldSlot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cluster.KubeletOptions{})
	w.CreateNode("t4", cluster.TimeSlicedT4(2, 4))
	w.schedule(cluster.SchedulerOptions{})
	w.runPods(t, cluster.Pod("old", "nvidia.com/gpu", 1))
	w.ChangeNode("t4", cluster.WholeT4(2))
	w.offcut.RequireLedgerEqualsRebuild()

	w.CreatePods(cluster.Pods("whole", 2, "nvidia.com/gpu", 1)...)
	w.Pods.Wait(t, soon, "one runs, one waits", func(pods []*corev1.Pod) bool {
		return running(pods) == 2 && refused(pods) == 1
	})
	w.DeletePods("old")
	w.Pods.Wait(t, soon, "both run", cluster.Running("whole-00", "whole-01"))
	w.offcut.RequireLedgerEqualsRebuild()
}

// A device plugin that restarts leaves allocatable at 0 for a while; who holds a GPU goes on.
func TestDevicePluginThatFlapsForThirtySecondsCostsNoDevice(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cluster.KubeletOptions{})
	w.CreateNode("whole", cluster.WholeA100x40(8))
	w.schedule(cluster.SchedulerOptions{})
	w.runPods(t, cluster.Pods("holder", 4, "nvidia.com/gpu", 1)...)
	w.SetAllocatable("whole", "nvidia.com/gpu", 0)
	w.offcut.RequireLedgerEqualsRebuild()
	w.CreatePods(cluster.Pods("newcomer", 6, "nvidia.com/gpu", 1)...)
	taken := w.Pods.Within(30*time.Second, func(pods []*corev1.Pod) bool { return bound(pods) > 4 })
	if taken {
		t.Error("a pod was bound to a node without allocatable GPUs")
	}
	w.SetAllocatable("whole", "nvidia.com/gpu", 8)
	w.Pods.Wait(t, soon, "four find room, two wait", func(pods []*corev1.Pod) bool {
		return running(pods) == 8 && refused(pods) == 2
	})
	w.offcut.RequireLedgerEqualsRebuild()
}

package e2e

import (
	"testing"

	"offcut.dev/e2e/cluster"
)

func TestNothingIsScheduledWithoutOffcutAndSchedulingResumesWithIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cluster.KubeletOptions{})
	w.CreateNodes("whole", 2, cluster.WholeA100x40(8))
	w.schedule(cluster.SchedulerOptions{})
	w.runPods(t, cluster.Pods("before", 4, "nvidia.com/gpu", 1)...)

	w.offcut.Kill()
	pods := cluster.Pods("during", 12, "nvidia.com/gpu", 1)
	names := cluster.NamesOf(pods)
	w.CreatePods(pods...)
	w.CreatePods(cluster.Pod("cpu", "", 0))
	w.Pods.Wait(t, soon, "pod without GPU runs", cluster.Running("cpu"))
	w.Pods.Wait(t, soon, "scheduler says that it could not ask",
		cluster.Unscheduled("SchedulerError", names...))
	for _, pod := range pods {
		if binding, isBound := w.Pods.BindingOf(pod.UID); isBound {
			t.Errorf("%s was bound to %s although nobody chose its GPU", pod.Name, binding.Node)
		}
	}

	w.offcut.Start()
	w.Pods.Wait(t, soon, "pods run", cluster.Running(names...))
	w.offcut.RequireLedgerEqualsRebuild()
}

package e2e

import (
	"testing"

	"offcut.dev/e2e/cluster"
)

// Proves the harness itself, without Offcut: the scheduler binds, the stub kubelet runs and removes
// the pod.
func TestPlainPodRunsWithoutAnExtender(t *testing.T) {
	t.Parallel()
	c := cluster.New(t, cluster.KubeletOptions{})
	c.CreateNode("cpu", cluster.CPUOnly())
	c.StartScheduler(cluster.SchedulerOptions{})
	c.CreatePods(cluster.Pod("plain", "", 0))
	c.Pods.Wait(t, soon, "pod runs", cluster.Running("plain"))
	c.DeletePods("plain")
	c.Pods.Wait(t, soon, "pod is gone", cluster.Gone("plain"))
}

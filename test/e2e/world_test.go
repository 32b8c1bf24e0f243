// Package e2e runs Offcut against a real etcd, kube-apiserver, kube-scheduler and, where a test
// needs its controllers, kube-controller-manager.
package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"offcut.dev/e2e/cluster"
)

const (
	// For what takes seconds on an idle machine, the scheduler's back-off of 10 s included; far
	// below the 5 min after which the scheduler tries every pod again.
	soon = time.Minute
	// For hundreds of pods.
	long = 5 * time.Minute
)

// world is a cluster with one Offcut. All that it says to the API server goes through `api`, and
// all that a scheduler asks it through `extender`.
type world struct {
	*cluster.Cluster
	api      *cluster.TCPProxy
	extender *cluster.ExtenderProxy
	offcut   *cluster.Offcut
}

// Starts everything but a scheduler.
func newWorld(t *testing.T, kubelet cluster.KubeletOptions, arguments ...string) *world {
	t.Helper()
	w := &world{Cluster: cluster.New(t, kubelet), extender: cluster.NewExtenderProxy(t)}
	w.api = cluster.NewTCPProxy(t, w.APIAddress())
	w.offcut = w.StartOffcut(cluster.OffcutOptions{
		Server: w.api.Address(), Extender: w.extender, Arguments: arguments,
	})
	return w
}

// Starts a scheduler that asks Offcut.
func (w *world) schedule(options cluster.SchedulerOptions) *cluster.Scheduler {
	options.Extender = w.extender
	return w.StartScheduler(options)
}

// Writes a policy of this text, and returns its path.
func writePolicy(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "policy.yaml")
	text = "apiVersion: offcut.dev/v1alpha1\nkind: Policy\n" + text
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Creates the pods and waits until all of them run.
func (w *world) runPods(t *testing.T, pods ...*corev1.Pod) {
	t.Helper()
	w.CreatePods(pods...)
	w.Pods.Wait(t, soon, "pods run", cluster.Running(cluster.NamesOf(pods)...))
}

// Makes the pod fit one node alone.
func onNode(pod *corev1.Pod, node string) *corev1.Pod {
	pod.Spec.NodeSelector = map[string]string{"kubernetes.io/hostname": node}
	return pod
}

func annotated(pod *corev1.Pod, key, value string) *corev1.Pod {
	pod.Annotations = map[string]string{key: value}
	return pod
}

// How many of the pods have a node.
func bound(pods []*corev1.Pod) int {
	count := 0
	for _, pod := range pods {
		if pod.Spec.NodeName != "" {
			count++
		}
	}
	return count
}

// Whether exactly so many pods have a node.
func boundIs(count int) func([]*corev1.Pod) bool {
	return func(pods []*corev1.Pod) bool { return bound(pods) == count }
}

// The answer of a check that has to be asked again.
var errNotYet = errors.New("not yet")

// How many of the pods run.
func running(pods []*corev1.Pod) int {
	count := 0
	for _, pod := range pods {
		if pod.Status.Phase == corev1.PodRunning {
			count++
		}
	}
	return count
}

// How many pods were told that no node has room.
func refused(pods []*corev1.Pod) int {
	count := 0
	for _, pod := range pods {
		if pod.Spec.NodeName == "" && cluster.ScheduledCondition(pod).Reason == "Unschedulable" {
			count++
		}
	}
	return count
}

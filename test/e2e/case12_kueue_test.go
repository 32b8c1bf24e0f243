package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"offcut.dev/e2e/cluster"
)

// By Offcut's own quota red may use one GPU, whether its pods come by namespace or by queue.
const kueuePolicy = `
tenantSource: kueue
tenants:
- name: red
  namespaces: [default]
  queues: [red]
  quotas: [{pool: "*", guarantee: {devices: 1}, borrowingLimit: {devices: 0}}]
- name: blue
  queues: [blue]
  quotas: [{pool: "*", guarantee: {devices: 3}}]
`

// Kueue lends red the three GPUs of blue's queue. Offcut's own limit would refuse three of red's
// pods; it places them at once and counts each once. The fifth is gated, and holds nothing; and a
// pod that Kueue knows nothing of is held to Offcut's quota.
func TestPodsThatKueueAdmitsArePlacedAndChargedOnce(t *testing.T) {
	t.Parallel()
	w := &world{
		Cluster: cluster.New(t, cluster.KubeletOptions{}), extender: cluster.NewExtenderProxy(t),
	}
	w.StartKueue()
	w.CreateQueue("red", 1)
	w.CreateQueue("blue", 3)
	w.Apply("../../deploy/kueue/rbac.yaml")
	w.CreateNode("n", cluster.WholeA100x80(5))
	w.offcut = w.StartOffcut(cluster.OffcutOptions{
		Extender: w.extender, Arguments: []string{"--policy", writePolicy(t, kueuePolicy)},
	})
	w.schedule(cluster.SchedulerOptions{})

	pods := cluster.Pods("red", 5, "nvidia.com/gpu", 1)
	for _, pod := range pods {
		cluster.KueuePod(pod, "red")
	}
	created := time.Now()
	w.CreatePods(pods...)
	w.Pods.Wait(t, long, "four of five run", func(all []*corev1.Pod) bool { return running(all) == 4 })
	t.Logf("created, admitted by Kueue and running after %s", time.Since(created))
	for _, pod := range w.Pods.All() {
		if pod.Spec.NodeName == "" {
			continue
		}
		record, err := cluster.RecordOf(pod)
		if err != nil {
			t.Error(err)
		} else if record.Tenant != "red" || record.Charge.Devices != 1400 {
			t.Errorf("pod %s: tenant %q, charge %d", pod.Name, record.Tenant,
				record.Charge.Devices)
		}
	}

	// Nobody admitted it, and its namespace is red's, which has long used up what Offcut grants.
	w.CreatePods(cluster.Pod("plain", "nvidia.com/gpu", 1))
	w.Pods.Wait(t, soon, "plain is refused for quota", func(all []*corev1.Pod) bool {
		return slices.ContainsFunc(all, func(pod *corev1.Pod) bool {
			message := cluster.ScheduledCondition(pod).Message
			return pod.Name == "plain" && strings.Contains(message, "quota")
		})
	})
}

package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Kueue looks here alone for the certificate of its metrics; no setting names another place.
const kueueMetricsCertificates = "/etc/kueue/metrics/certs"

// StartKueue installs Kueue's resources and starts the real Kueue, for plain pods and without its
// webhooks: see KueuePod. The test is skipped where the certificate cannot be put where Kueue wants
// it, which takes root.
func (c *Cluster) StartKueue() {
	c.t.Helper()
	authority := newAuthority(c.t)
	certificate, key := authority.issue(c.t, "127.0.0.1")
	folder := filepath.Join(c.Folder, "kueue")
	for _, place := range []string{folder, kueueMetricsCertificates} {
		if err := writePair(c.t, place, certificate, key); err != nil {
			c.t.Skipf("Kueue cannot have its certificate: %v", err)
		}
	}
	binary := c.Binary("kueue")
	c.Kubectl("apply", "--server-side", "-f", filepath.Join(filepath.Dir(binary), "crd"))
	// A definition that has no condition yet ends `kubectl wait` with an error: wait again.
	Eventually(c.t, readyTimeout, "Kueue's resources are served", func() error {
		_, err := c.tryKubectl("wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
		return err
	})
	config := writeFile(c.t, folder, "config.yaml", fmt.Appendf(nil, `
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
health: {healthProbeBindAddress: "127.0.0.1:%d"}
metrics: {bindAddress: "127.0.0.1:%d"}
webhook: {host: 127.0.0.1, port: %d, certDir: %s}
leaderElection: {leaderElect: false}
internalCertManagement: {enable: false}
integrations: {frameworks: [pod]}
`, FreePort(c.t), FreePort(c.t), FreePort(c.t), folder))
	startWith(c.t, c.Folder, "kueue", []string{"KUBECONFIG=" + c.kubeconfig}, binary,
		"--config="+config, "--feature-gates=VisibilityOnDemand=false")
}

func writePair(t testing.TB, folder string, certificate, key []byte) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for name, content := range map[string][]byte{"tls.crt": certificate, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// KueuePod makes the pod what Kueue's webhook would make of it: gated, until the queue has room.
func KueuePod(pod *corev1.Pod, queue string) *corev1.Pod {
	pod.Labels = map[string]string{
		"kueue.x-k8s.io/managed": "true", "kueue.x-k8s.io/queue-name": queue,
	}
	pod.Finalizers = []string{"kueue.x-k8s.io/managed"}
	pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "kueue.x-k8s.io/admission"}}
	return pod
}

// CreateQueue makes a ClusterQueue of the cohort `all` with so many GPUs, and a LocalQueue of the
// same name that leads to it.
func (c *Cluster) CreateQueue(name string, gpus int) {
	c.t.Helper()
	file := writeFile(c.t, c.Folder, "queue-"+name+".yaml", fmt.Appendf(nil, `
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: any}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: %[1]s}
spec:
  cohortName: all
  namespaceSelector: {}
  resourceGroups:
    - coveredResources: [nvidia.com/gpu]
      flavors:
        - name: any
          resources: [{name: nvidia.com/gpu, nominalQuota: %[2]d}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: %[1]s, namespace: %[3]s}
spec: {clusterQueue: %[1]s}
`, name, gpus, metav1.NamespaceDefault))
	// A definition that is established may still be unknown to the next who asks for its kind.
	Eventually(c.t, readyTimeout, "queue "+name+" is made", func() error {
		_, err := c.tryKubectl("apply", "-f", file)
		return err
	})
}

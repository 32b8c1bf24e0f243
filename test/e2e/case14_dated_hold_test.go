package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"offcut.dev/e2e/cluster"
)

const datedHoldPolicy = `apiVersion: offcut.dev/v1alpha1
kind: Policy
reclaim: {dateAfterSeconds: 2}
`

// Sixty pods of one GPU, which end after 6 to 10 s each, queue for a node of eight: a stream of
// about a minute. The pod that wants all eight comes when the first eight run. It must start while
// small pods wait yet, and with nobody evicted for it.
func TestCase14APodOfAWholeNodeStartsAmongAStreamOfSmallOnes(t *testing.T) {
	t.Parallel()
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(policy, []byte(datedHoldPolicy), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, cluster.KubeletOptions{}, "--policy="+policy)
	w.CreateNode("n", cluster.WholeA100x40(8))
	w.schedule(cluster.SchedulerOptions{})
	small := cluster.Pods("small", 60, gpu, 1)
	for i, pod := range small {
		seconds := int64(6 + i%5)
		pod.Spec.ActiveDeadlineSeconds = &seconds
	}
	w.CreatePods(small...)
	w.Pods.Wait(t, soon, "the node is full", boundIs(8))
	big := cluster.Pod("big", gpu, 8)
	w.runPods(t, big)

	hold := struct{ Cause, Node, Expected string }{}
	text := w.Pods.Latest(big.UID).Annotations["offcut.dev/hold"]
	if err := json.Unmarshal([]byte(text), &hold); err != nil {
		t.Fatalf("hold %q: %v", text, err)
	}
	if hold.Cause != "date" || hold.Node != "n" || hold.Expected == "" {
		t.Errorf("hold %s, want one of n with a date", text)
	}
	waiting := 0
	for _, pod := range small {
		latest := w.Pods.Latest(pod.UID)
		if latest == nil || latest.DeletionTimestamp != nil {
			t.Errorf("%s was evicted", pod.Name)
		} else if latest.Spec.NodeName == "" {
			waiting++
		} else if latest.Status.Phase == corev1.PodRunning {
			t.Errorf("%s runs beside the pod that has the whole node", pod.Name)
		}
	}
	if waiting == 0 {
		t.Error("the stream ended before the pod started: this test shows nothing")
	}
	w.offcut.RequireLedgerEqualsRebuild()
}

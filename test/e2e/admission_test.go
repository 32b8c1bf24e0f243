package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"offcut.dev/e2e/cluster"
)

const (
	admissionFolder = "../../deploy/admission/"
	quotaGate       = "offcut.dev/quota"
)

func applyAdmission(c *cluster.Cluster, path string) {
	c.Kubectl("apply", "--server-side", "--validate=strict", "-f", path)
}

// Before 1.36 by what the README says about older servers.
func applyQuotaGate(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	const shipped = admissionFolder + "quota-gate.yaml"
	list, err := c.Client.Discovery().ServerResourcesForGroupVersion(
		"admissionregistration.k8s.io/v1")
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(list.APIResources, func(resource metav1.APIResource) bool {
		return resource.Name == "mutatingadmissionpolicies"
	}) {
		applyAdmission(c, shipped)
		return
	}
	c.StopAPIServer()
	c.RestartAPIServer("--feature-gates=MutatingAdmissionPolicy=true",
		"--runtime-config=admissionregistration.k8s.io/v1beta1=true")
	text, err := os.ReadFile(shipped)
	if err != nil {
		t.Fatal(err)
	}
	beta := filepath.Join(c.Folder, "quota-gate.yaml")
	text = bytes.ReplaceAll(text, []byte("admissionregistration.k8s.io/v1"),
		[]byte("admissionregistration.k8s.io/v1beta1"))
	if err := os.WriteFile(beta, text, 0o600); err != nil {
		t.Fatal(err)
	}
	applyAdmission(c, beta)
}

// What the API server would make of the pod.
func tryPod(t *testing.T, c *cluster.Cluster, pod *corev1.Pod) (*corev1.Pod, error) {
	return c.Client.CoreV1().Pods(pod.Namespace).Create(t.Context(), pod,
		metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
}

func patchPod(t *testing.T, c *cluster.Cluster, name, patch string, subresources ...string) error {
	_, err := c.Client.CoreV1().Pods(metav1.NamespaceDefault).Patch(t.Context(), name,
		types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
	return err
}

func requireAnswer(t *testing.T, what string, err error, refusal string) {
	t.Helper()
	if refusal == "" && err != nil {
		t.Errorf("%s is refused: %v", what, err)
	}
	if refusal != "" && (err == nil || !strings.Contains(err.Error(), refusal)) {
		t.Errorf("%s is not refused with %q: %v", what, refusal, err)
	}
}

// A policy counts a moment after it was made.
func waitRefused(t *testing.T, c *cluster.Cluster, pod *corev1.Pod) {
	t.Helper()
	cluster.Eventually(t, soon, "policy counts", func() error {
		if _, err := tryPod(t, c, pod); err == nil {
			return errNotYet
		}
		return nil
	})
}

func gates(pod *corev1.Pod) []string {
	names := []string{}
	for _, gate := range pod.Spec.SchedulingGates {
		names = append(names, gate.Name)
	}
	return names
}

func in(namespace string, pods ...*corev1.Pod) []*corev1.Pod {
	for _, pod := range pods {
		pod.Namespace = namespace
	}
	return pods
}

func TestGateIsSetOnPodsThatAskForGPUs(t *testing.T) {
	t.Parallel()
	c := cluster.New(t, cluster.KubeletOptions{})
	c.Kubectl("create", "namespace", "team")
	c.Kubectl("label", "namespace", "team", "offcut.dev/gate=quota")
	applyQuotaGate(t, c)
	gpu := func(name string) *corev1.Pod {
		return in("team", cluster.Pod(name, "nvidia.com/gpu", 1))[0]
	}
	cluster.Eventually(t, soon, "policy counts", func() error {
		if pod, err := tryPod(t, c, gpu("first")); err != nil || len(gates(pod)) == 0 {
			return errNotYet
		}
		return nil
	})

	onNode, gated, others, initOnly := gpu("on-node"), gpu("gated"), gpu("others"), gpu("init")
	onNode.Spec.NodeName = "n"
	gated.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: quotaGate}}
	others.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/other"}}
	initOnly.Spec.InitContainers = initOnly.Spec.Containers
	initOnly.Spec.Containers = []corev1.Container{{Name: "plain", Image: "e2e"}}
	for _, try := range []struct {
		pod  *corev1.Pod
		want []string
	}{
		{gpu("gpu"), []string{quotaGate}},
		{in("team", cluster.Pod("slice", "nvidia.com/mig-1g.5gb", 1))[0], []string{quotaGate}},
		{initOnly, []string{quotaGate}},
		{others, []string{"example.com/other", quotaGate}},
		{gated, []string{quotaGate}},
		{onNode, nil},
		{in("team", cluster.Pod("zero", "nvidia.com/gpu", 0))[0], nil},
		{in("team", cluster.Pod("cpu", "", 0))[0], nil},
		{cluster.Pod("elsewhere", "nvidia.com/gpu", 1), nil},
	} {
		made, err := tryPod(t, c, try.pod)
		requireAnswer(t, try.pod.Name, err, "")
		if err == nil && !slices.Equal(gates(made), try.want) {
			t.Errorf("%s has the gates %v, not %v", try.pod.Name, gates(made), try.want)
		}
	}
}

func TestRecordsAreOffcutsAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cluster.KubeletOptions{})
	w.CreateNode("node", cluster.WholeA100x80(8))
	w.schedule(cluster.SchedulerOptions{})
	applyAdmission(w.Cluster, admissionFolder+"protect-records.yaml")
	const refusal = "only Offcut sets the annotations"
	forged := annotated(cluster.Pod("forged", "nvidia.com/gpu", 1), cluster.DevicesAnnotation, "{}")
	waitRefused(t, w.Cluster, forged)
	_, err := tryPod(t, w.Cluster, forged)
	requireAnswer(t, "a pod with devices", err, refusal)

	// Offcut's own binding is allowed, and so are the stub kubelet's changes of its status.
	pod := cluster.Pod("train", "nvidia.com/gpu", 1)
	pod.Labels = map[string]string{"offcut.dev/tenant": "red"}
	w.runPods(t, pod)
	requireRecord(t, w, pod, "whole")
	pending := cluster.Pod("pending", "nvidia.com/gpu", 1)
	pending.Labels = map[string]string{cluster.BoundByOthers: "true"}
	pending.Spec.SchedulerName = "nobody"
	w.CreatePods(pending)

	for _, try := range []struct {
		what, pod, patch, subresource, refusal string
	}{
		{"another record", "train", `{"metadata": {"annotations": {"offcut.dev/devices": "{}"}}}`, "",
			refusal},
		{"no record", "train", `{"metadata": {"annotations": {"offcut.dev/devices": null}}}`, "",
			refusal},
		{"a record by the status", "train",
			`{"metadata": {"annotations": {"offcut.dev/devices": "{}"}}}`, "status", refusal},
		{"a nudge", "pending", `{"metadata": {"annotations": {"offcut.dev/nudge": "1"}}}`, "", refusal},
		{"another tenant", "train", `{"metadata": {"labels": {"offcut.dev/tenant": "blue"}}}`, "",
			"keeps its label"},
		{"no tenant, by the status", "train", `{"metadata": {"labels": {"offcut.dev/tenant": null}}}`,
			"status", "keeps its label"},
		{"a tenant for a pod without node", "pending",
			`{"metadata": {"labels": {"offcut.dev/tenant": "blue"}}}`, "", ""},
		{"annotations of others", "train", `{"metadata": {"annotations": {"example.com/a": "b"}}}`, "",
			""},
	} {
		var subresources []string
		if try.subresource != "" {
			subresources = append(subresources, try.subresource)
		}
		requireAnswer(t, try.what, patchPod(t, w.Cluster, try.pod, try.patch, subresources...),
			try.refusal)
	}
	w.Kubectl("--as="+cluster.OffcutUser, "-n=default", "annotate", "pod", "pending",
		"offcut.dev/nudge=1")
	requireBindingsProtected(t, w.Cluster, pending.Name, refusal)
}

// The annotations of a Binding are merged into the pod.
func requireBindingsProtected(t *testing.T, c *cluster.Cluster, pod, refusal string) {
	t.Helper()
	binding := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{
			Name: pod, Annotations: map[string]string{cluster.DevicesAnnotation: "{}"},
		},
		Target: corev1.ObjectReference{Kind: "Node", Name: "node"},
	}
	pods := c.Client.CoreV1().Pods(metav1.NamespaceDefault)
	requireAnswer(t, "a binding with devices", pods.Bind(t.Context(), binding,
		metav1.CreateOptions{}), refusal)
	err := c.Client.CoreV1().RESTClient().Post().Namespace(metav1.NamespaceDefault).
		Resource("bindings").Body(binding).Do(t.Context()).Error()
	requireAnswer(t, "a binding with devices by the old path", err, refusal)
	binding.Annotations = nil
	requireAnswer(t, "a binding by hand", pods.Bind(t.Context(), binding, metav1.CreateOptions{}),
		"")
}

func TestNamespaceRequiresItsScheduler(t *testing.T) {
	t.Parallel()
	c := cluster.New(t, cluster.KubeletOptions{})
	c.Kubectl("create", "namespace", "team")
	c.Kubectl("label", "namespace", "team", "offcut.dev/require-scheduler=offcut-scheduler")
	applyAdmission(c, admissionFolder+"require-scheduler.yaml")
	by := func(scheduler string, pod *corev1.Pod) *corev1.Pod {
		pod.Spec.SchedulerName = scheduler
		return in("team", pod)[0]
	}
	waitRefused(t, c, by("", cluster.Pod("first", "nvidia.com/gpu", 1)))

	const refusal = "needs schedulerName offcut-scheduler"
	direct := by("offcut-scheduler", cluster.Pod("direct", "nvidia.com/gpu", 1))
	direct.Spec.NodeName = "n"
	for _, try := range []struct {
		pod     *corev1.Pod
		refusal string
	}{
		{by("offcut-scheduler", cluster.Pod("right", "nvidia.com/gpu", 1)), ""},
		{by("", cluster.Pod("default", "nvidia.com/gpu", 1)), refusal},
		{by("other", cluster.Pod("other", "nvidia.com/mig-1g.5gb", 1)), refusal},
		{direct, "names no node"},
		{by("other", cluster.Pod("cpu", "", 0)), ""},
		{cluster.Pod("elsewhere", "nvidia.com/gpu", 1), ""},
	} {
		_, err := tryPod(t, c, try.pod)
		requireAnswer(t, try.pod.Name, err, try.refusal)
	}
}

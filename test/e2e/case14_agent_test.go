package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"offcut.dev/e2e/cluster"
)

const half = "nvidia.com/mig-3g.20gb"

// The profiles of the policy `dynamic-mig`: no node advertises them.
func ignoringProfiles() cluster.SchedulerOptions {
	var managed []any
	for _, name := range []string{"nvidia.com/gpu", "nvidia.com/mig-1g.5gb", half} {
		managed = append(managed, map[string]any{
			"name": name, "ignoredByScheduler": name != "nvidia.com/gpu",
		})
	}
	return cluster.SchedulerOptions{Entry: map[string]any{"managedResources": managed}}
}

// Where the pod's only instance starts, by the record that its agent reads.
func startOf(t *testing.T, w *world, pod *corev1.Pod) int {
	t.Helper()
	if binding, _ := w.Pods.BindingOf(pod.UID); !binding.WithRecord {
		t.Errorf("the event that showed the node of %s showed no devices", pod.Name)
	}
	record, err := cluster.RecordOf(w.Pods.Latest(pod.UID))
	if err != nil {
		t.Fatal(err)
	}
	if record.Agent != "dynamic-mig" || record.Certainty != "exact" || len(record.Devices) != 1 {
		t.Fatalf("record of %s: agent %q, %s, %d devices", pod.Name, record.Agent, record.Certainty,
			len(record.Devices))
	}
	device := record.Devices[0]
	if device.Start == nil || device.Profile != "3g.20gb" || device.UUID != "GPU-0" ||
		device.Container != "main" {
		t.Fatalf("record of %s: %+v", pod.Name, device)
	}
	return *device.Start
}

// 3g.20gb stands at 0 or at 4 of an A100's eight slices. The GPU has both halves taken when Offcut
// starts anew, so a third pod waits until one of them is gone, and gets that one.
func TestAgentIsToldTheStartsOfInstancesAlsoAfterARestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cluster.KubeletOptions{}, "--policy=../../deploy/policies/dynamic-mig.yaml")
	w.CreateNode("cut", cluster.AgentA100(1))
	w.schedule(ignoringProfiles())
	first, second := cluster.Pod("first", half, 1), cluster.Pod("second", half, 1)
	w.runPods(t, first, second)
	freed, kept := startOf(t, w, first), startOf(t, w, second)
	if freed+kept != 4 || freed*kept != 0 {
		t.Fatalf("two halves start at 0 and at 4, not at %d and %d", freed, kept)
	}

	w.offcut.Kill()
	w.offcut.Start()
	third := cluster.Pod("third", half, 1)
	w.CreatePods(third)
	w.Pods.Wait(t, soon, "third waits", cluster.Unscheduled("Unschedulable", "third"))
	message := cluster.ScheduledCondition(w.Pods.Latest(third.UID)).Message
	if !strings.Contains(message, "1 not enough free MIG instances") {
		t.Errorf("no reason that helps: %s", message)
	}

	w.DeletePods("first")
	w.Pods.Wait(t, soon, "third runs", cluster.Running("third"))
	if start := startOf(t, w, third); start != freed {
		t.Errorf("third starts at %d; what came free is %d", start, freed)
	}
	requireNothingForbidden(t, w)
}

// The same node without the label: nobody there reads a record.
func TestNodeWithoutAnAgentThatObeysTakesNoPod(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cluster.KubeletOptions{}, "--policy=../../deploy/policies/dynamic-mig.yaml")
	w.CreateNode("cut", cluster.HAMiA100(1))
	w.schedule(ignoringProfiles())
	pod := cluster.Pod("pod", half, 1)
	w.CreatePods(pod)
	w.Pods.Wait(t, soon, "pod is refused", cluster.Unscheduled("Unschedulable", "pod"))
	message := cluster.ScheduledCondition(w.Pods.Latest(pod.UID)).Message
	if !strings.Contains(message, "offcut does not drive") {
		t.Errorf("another reason: %s", message)
	}
}

// One half has an instance of low priority, the other two small ones, of low and of middle priority.
// kube-scheduler sees no shortage of what it is told to ignore, and preempts nobody: the loop frees
// the one half that costs least, and the pod gets just that.
func TestAgentIsFreedTheRightHalfForAPodOfHigherPriority(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../deploy/policies/dynamic-mig.yaml")
	if err != nil {
		t.Fatal(err)
	}
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	text = append(text, "reclaim: {mode: on, afterSeconds: 1}\n"...)
	if err := os.WriteFile(policy, text, 0o600); err != nil {
		t.Fatal(err)
	}
	w := newPreemptionWorld(t, "--policy="+policy)
	w.Apply("../../deploy/reclaim/rbac.yaml")
	w.CreateNode("cut", cluster.AgentA100(1))
	w.schedule(ignoringProfiles())
	large := withPriority(cluster.Pod("large", half, 1), "low")
	w.runPods(t, large)
	freed := startOf(t, w, large)
	const small = "nvidia.com/mig-1g.5gb"
	w.runPods(t, withPriority(cluster.Pod("small-low", small, 1), "low"),
		withPriority(cluster.Pod("small-middle", small, 1), "middle"))
	high := withPriority(cluster.Pod("high", half, 1), "high")
	w.runPods(t, high)
	if names := cluster.NamesOf(w.Pods.All()); len(names) != 3 || slices.Contains(names, "large") {
		t.Errorf("left are %v; large alone had to go", names)
	}
	if start := startOf(t, w, high); start != freed {
		t.Errorf("high starts at %d; what was freed for it is %d", start, freed)
	}
	if evictions := w.offcut.Metric("offcut_evictions_total", ""); evictions != 1 {
		t.Errorf("%v evictions", evictions)
	}
	w.offcut.RequireLedgerEqualsRebuild()
}

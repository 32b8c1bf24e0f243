package e2e

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"offcut.dev/e2e/cluster"
)

func TestPodOfEveryKindGoesToTheBestNodeWithItsDevicesOnRecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cluster.KubeletOptions{})
	for prefix, kind := range map[string]cluster.NodeKind{
		"whole": cluster.WholeA100x80(8), "sliced": cluster.TimeSlicedT4(2, 4),
		"renamed": cluster.RenamedT4(2, 10), "mps": cluster.MPSL40S(2, 4),
		"mixed": cluster.MixedA100(),
	} {
		w.CreateNodes(prefix, 2, kind)
	}
	w.schedule(cluster.SchedulerOptions{})

	const product = "nvidia.com/gpu.product"
	for _, pod := range []struct {
		name, product string
		kind          string // of the devices on record
		requests      map[corev1.ResourceName]string
	}{
		{"one-gpu", "NVIDIA-A100-SXM4-80GB", "whole", requests{"nvidia.com/gpu": "1"}},
		{"four-gpus", "NVIDIA-A100-SXM4-80GB", "whole", requests{"nvidia.com/gpu": "4"}},
		{"eight-gpus", "NVIDIA-A100-SXM4-80GB", "whole", requests{"nvidia.com/gpu": "8"}},
		{"time-sliced", "Tesla-T4-SHARED", "slot", requests{"nvidia.com/gpu": "1"}},
		{"renamed", "", "slot", requests{"nvidia.com/gpu.shared": "1"}},
		{"mps", "NVIDIA-L40S-SHARED", "slot", requests{"nvidia.com/gpu": "1"}},
		{"small-instance", "", "mig", requests{"nvidia.com/mig-1g.5gb": "1"}},
		{"large-instance", "", "mig", requests{"nvidia.com/mig-3g.20gb": "1"}},
		{"two-profiles", "", "mig", requests{
			"nvidia.com/mig-1g.5gb": "2", "nvidia.com/mig-2g.10gb": "1",
		}},
	} {
		created := cluster.Pod(pod.name, "", 0)
		created.Spec.Containers[0].Resources.Limits = corev1.ResourceList{}
		for name, count := range pod.requests {
			created.Spec.Containers[0].Resources.Limits[name] = resource.MustParse(count)
		}
		if pod.product != "" {
			created.Spec.NodeSelector = map[string]string{product: pod.product}
		}
		w.runPods(t, created)
		requireBestNode(t, w, created)
		requireRecord(t, w, created, pod.kind)
	}
	requireNothingForbidden(t, w)
}

type requests = map[corev1.ResourceName]string

// The scheduler may ask several times; the last answer before the bind counts. With one feasible
// node it does not ask for scores.
func requireBestNode(t *testing.T, w *world, pod *corev1.Pod) {
	t.Helper()
	binding, _ := w.Pods.BindingOf(pod.UID)
	filters := w.extender.CallsFor("filter", pod.UID)
	if len(filters) == 0 {
		t.Fatalf("nobody asked to filter for %s", pod.Name)
	}
	best := filters[len(filters)-1].Filter(t).NodeNames
	if len(best) > 1 {
		scorings := w.extender.CallsFor("prioritize", pod.UID)
		if len(scorings) == 0 {
			t.Fatalf("nobody asked for scores of %s on %v", pod.Name, best)
		}
		best = highest(scorings[len(scorings)-1].Scores(t))
	}
	if len(best) != 1 || best[0] != binding.Node {
		t.Errorf("%s is on %s; the best node was %v", pod.Name, binding.Node, best)
	}
}

func highest(scores []cluster.HostPriority) []string {
	var hosts []string
	top := int64(-1)
	for _, score := range scores {
		if score.Score > top {
			hosts, top = nil, score.Score
		}
		if score.Score == top {
			hosts = append(hosts, score.Host)
		}
	}
	return hosts
}

// That the record is about this pod and has its number of devices, the device check has seen.
func requireRecord(t *testing.T, w *world, pod *corev1.Pod, kind string) {
	t.Helper()
	if binding, _ := w.Pods.BindingOf(pod.UID); !binding.WithRecord {
		t.Errorf("the event that showed the node of %s showed no devices", pod.Name)
	}
	record, err := cluster.RecordOf(w.Pods.Latest(pod.UID))
	if err != nil {
		t.Fatal(err)
	}
	if record.Version != 1 || record.Agent != "nvidia" {
		t.Errorf("record of %s: version %d, agent %q", pod.Name, record.Version, record.Agent)
	}
	for _, device := range record.Devices {
		if device.Kind != kind || device.Container != "main" {
			t.Errorf("record of %s: %s for container %q, not %s for main", pod.Name, device.Kind,
				device.Container, kind)
		}
	}
}

func requireNothingForbidden(t *testing.T, w *world) {
	t.Helper()
	forbidden := w.Audit(func(event cluster.AuditEvent) bool {
		return event.User.Username == cluster.OffcutUser && event.Response.Code == 403
	})
	for _, event := range forbidden {
		t.Errorf("Offcut's role lacks %s %s", event.Verb, event.RequestURI)
	}
}

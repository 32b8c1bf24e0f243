package cluster

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A check that never fires proves nothing, so each of its faults is provoked here.

func boundPod(name, node, resource string, devices ...Device) *corev1.Pod {
	pod := Pod(name, resource, int64(len(devices)))
	pod.UID = types.UID("uid-" + name)
	pod.Spec.NodeName = node
	record, _ := json.Marshal(Record{Version: 1, PodUID: string(pod.UID), Node: node, Devices: devices})
	pod.Annotations = map[string]string{DevicesAnnotation: string(record)}
	return pod
}

func gpu(kind string, index int) Device { return Device{Kind: kind, GPU: &index} }

func checkOf(kind NodeKind) *deviceCheck {
	check := newDeviceCheck()
	check.setInventory("n", kind.Inventory())
	return check
}

func requireFault(t *testing.T, faults []string, part string) {
	t.Helper()
	if text := strings.Join(faults, "; "); part == "" && text != "" || !strings.Contains(text, part) {
		t.Errorf("faults are %q, not %q", text, part)
	}
}

func TestDeviceCheckSeesAGPUGivenTwice(t *testing.T) {
	check := checkOf(WholeA100x40(8))
	requireFault(t, check.apply(boundPod("a", "n", "nvidia.com/gpu", gpu("whole", 3)), false), "")
	requireFault(t, check.apply(boundPod("b", "n", "nvidia.com/gpu", gpu("whole", 4)), false), "")
	requireFault(t, check.apply(boundPod("c", "n", "nvidia.com/gpu", gpu("whole", 3)), false),
		"GPU 3 is given 2 times whole")
}

func TestDeviceCheckSeesAGPUThatIsNotThere(t *testing.T) {
	check := checkOf(WholeA100x40(2))
	requireFault(t, check.apply(boundPod("a", "n", "nvidia.com/gpu", gpu("whole", 2)), false),
		"GPU 2 of 2")
}

func TestDeviceCheckSeesASlotTooMany(t *testing.T) {
	check := checkOf(TimeSlicedT4(2, 1))
	requireFault(t, check.apply(boundPod("a", "n", "nvidia.com/gpu", gpu("slot", 0)), false), "")
	requireFault(t, check.apply(boundPod("b", "n", "nvidia.com/gpu", gpu("slot", 0)), false),
		"in 2 slots of 1")
}

func TestDeviceCheckSeesAWholeGPUBesideASlot(t *testing.T) {
	check := checkOf(TimeSlicedT4(2, 4))
	requireFault(t, check.apply(boundPod("a", "n", "nvidia.com/gpu", gpu("slot", 1)), false), "")
	check.setInventory("n", WholeT4(2).Inventory())
	requireFault(t, check.apply(boundPod("b", "n", "nvidia.com/gpu", gpu("whole", 1)), false),
		"GPU 1 is given 1 times whole and in 1 slots")
}

func TestDeviceCheckSeesAnInstanceTooMany(t *testing.T) {
	check := checkOf(OneInstanceA100())
	large := Device{Kind: "mig", Profile: "3g.20gb"}
	requireFault(t, check.apply(boundPod("a", "n", "nvidia.com/mig-3g.20gb", large), false), "")
	faults := check.apply(boundPod("b", "n", "nvidia.com/mig-3g.20gb", large), false)
	requireFault(t, faults, "2 of 1 instances 3g.20gb")
	requireFault(t, faults, "2 of 1 nvidia.com/mig-3g.20gb") // by the requests alone, too
}

func TestDeviceCheckSeesARecordThatIsMissingOrAnothers(t *testing.T) {
	check := checkOf(WholeA100x40(8))
	bare := boundPod("a", "n", "nvidia.com/gpu", gpu("whole", 0))
	bare.Annotations = nil
	requireFault(t, check.apply(bare, false), "bound without devices")
	copied := boundPod("b", "n", "nvidia.com/gpu", gpu("whole", 1))
	copied.UID = "another"
	requireFault(t, check.apply(copied, false), "names uid-b on n")
}

func TestDeviceCheckCountsPodsThatOthersBound(t *testing.T) {
	check := checkOf(WholeA100x40(1))
	stranger := boundPod("a", "n", "nvidia.com/gpu", gpu("whole", 0))
	stranger.Annotations, stranger.Labels = nil, map[string]string{BoundByOthers: "true"}
	requireFault(t, check.apply(stranger, false), "")
	requireFault(t, check.apply(boundPod("b", "n", "nvidia.com/gpu", gpu("whole", 0)), false),
		"2 of 1 nvidia.com/gpu")
}

// A pod that terminates holds its GPU until it is gone.
func TestDeviceCheckFreesAGPUWhenItsPodIsGoneOrDone(t *testing.T) {
	check := checkOf(WholeA100x40(1))
	first := boundPod("a", "n", "nvidia.com/gpu", gpu("whole", 0))
	requireFault(t, check.apply(first, false), "")
	first.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	requireFault(t, check.apply(first, false), "")
	requireFault(t, check.apply(boundPod("b", "n", "nvidia.com/gpu", gpu("whole", 0)), false),
		"GPU 0 is given 2 times")
	requireFault(t, check.apply(boundPod("b", "n", "nvidia.com/gpu", gpu("whole", 0)), true), "")
	requireFault(t, check.apply(first, true), "")
	done := boundPod("c", "n", "nvidia.com/gpu", gpu("whole", 0))
	requireFault(t, check.apply(done, false), "")
	done.Status.Phase = corev1.PodSucceeded
	requireFault(t, check.apply(done, false), "")
	requireFault(t, check.apply(boundPod("d", "n", "nvidia.com/gpu", gpu("whole", 0)), false), "")
}

func instanceAt(start int) Device {
	gpu := 0
	return Device{Kind: "mig", GPU: &gpu, Profile: "3g.20gb", Start: &start, Size: 4}
}

func TestDeviceCheckSeesInstancesThatOverlap(t *testing.T) {
	const resource = "nvidia.com/mig-3g.20gb"
	check := checkOf(AgentA100(1))
	requireFault(t, check.apply(boundPod("a", "n", resource, instanceAt(0)), false), "")
	requireFault(t, check.apply(boundPod("b", "n", resource, instanceAt(4)), false), "")
	requireFault(t, check.apply(boundPod("c", "n", resource, instanceAt(2)), false),
		"slice 3 of GPU 0 is given 2 times")
	requireFault(t, check.apply(boundPod("d", "n", resource, instanceAt(8)), false), "not there")
	requireFault(t, check.apply(boundPod("e", "n", resource, Device{Kind: "mig"}), false),
		"does not say where")
}

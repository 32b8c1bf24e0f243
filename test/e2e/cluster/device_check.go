package cluster

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// BoundByOthers labels pods that the test binds itself: they carry no device record.
const BoundByOthers = "e2e.offcut.dev/bound-by-others"

const resourcePrefix = "nvidia.com/"

// Record is the annotation DevicesAnnotation.
type Record struct {
	Version   int      `json:"version"`
	PodUID    string   `json:"podUID"`
	Node      string   `json:"node"`
	Agent     string   `json:"agent"`
	Certainty string   `json:"certainty"`
	Tenant    string   `json:"tenant"`
	Charge    Charge   `json:"charge"`
	Devices   []Device `json:"devices"`
}

// Charge is what the pod's tenant is charged.
type Charge struct {
	Devices int64 `json:"devices"` // 1/1400 of a GPU
}

// Device is one piece of a record: a GPU, a slot of one, or a MIG instance.
type Device struct {
	Container string `json:"container"`
	GPU       *int   `json:"gpu"` // absent for static MIG: nobody knows it
	UUID      string `json:"uuid"`
	Kind      string `json:"kind"` // whole, mig, slot
	Profile   string `json:"profile"`
	Start     *int   `json:"start"` // of an instance whose place is known: memory slices
	Size      int    `json:"size"`
}

// RecordOf reads the pod's device record.
func RecordOf(pod *corev1.Pod) (Record, error) {
	var record Record
	text, found := pod.Annotations[DevicesAnnotation]
	if !found {
		return record, fmt.Errorf("pod %s has no annotation %s", pod.Name, DevicesAnnotation)
	}
	if err := json.Unmarshal([]byte(text), &record); err != nil {
		return record, fmt.Errorf("pod %s: %s: %v", pod.Name, DevicesAnnotation, err)
	}
	return record, nil
}

// Inventory is what a node's device plugin has, whatever the Node object says of it meanwhile.
type Inventory struct {
	GPUs     int            // whole or shared ones; 0 where all are cut into instances
	Replicas int            // slots on each GPU; 1: not shared
	Counts   map[string]int // by resource name
	Slices   int            // memory slices of each GPU that an agent cuts; 0: none is cut
}

// deviceCheck keeps who holds what, as the device plugins of all nodes together would know it.
type deviceCheck struct {
	mutex       sync.Mutex // nodes come from the test, pods from the watch
	inventories map[string]Inventory
	holders     map[string]map[types.UID]holding // by node
}

type holding struct {
	pod      string
	requests map[string]int
	devices  []Device
}

func newDeviceCheck() *deviceCheck {
	return &deviceCheck{
		inventories: map[string]Inventory{}, holders: map[string]map[types.UID]holding{},
	}
}

func (d *deviceCheck) setInventory(node string, inventory Inventory) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.inventories[node] = inventory
}

// Takes an event in, and returns what is wrong with it. A pod holds its devices from its binding
// until it is gone or has ended, also while it terminates.
func (d *deviceCheck) apply(pod *corev1.Pod, deleted bool) []string {
	requests := gpuRequests(pod)
	node := pod.Spec.NodeName
	if node == "" || len(requests) == 0 {
		return nil
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	if deleted || ended {
		delete(d.holders[node], pod.UID)
		return nil
	}
	if _, known := d.holders[node][pod.UID]; known {
		return nil
	}
	taken := holding{pod: pod.Name, requests: requests}
	var faults []string
	if pod.Labels[BoundByOthers] == "" {
		record, err := RecordOf(pod)
		if err != nil {
			faults = append(faults, "bound without devices: "+err.Error())
		} else {
			faults = recordFaults(pod, record, requests)
		}
		taken.devices = record.Devices
	}
	if d.holders[node] == nil {
		d.holders[node] = map[types.UID]holding{}
	}
	d.holders[node][pod.UID] = taken
	return append(faults, d.overcommitted(node, taken)...)
}

// Whether the record is about this pod, and has a device for each that the pod asks for.
func recordFaults(pod *corev1.Pod, record Record, requests map[string]int) []string {
	var faults []string
	if record.PodUID != string(pod.UID) || record.Node != pod.Spec.NodeName {
		faults = append(faults, fmt.Sprintf("record of pod %s (%s on %s) names %s on %s", pod.Name,
			pod.UID, pod.Spec.NodeName, record.PodUID, record.Node))
	}
	asked := 0
	for _, count := range requests {
		asked += count
	}
	if len(record.Devices) != asked {
		faults = append(faults, fmt.Sprintf("record of pod %s has %d devices for a request of %d",
			pod.Name, len(record.Devices), asked))
	}
	return faults
}

// What the newcomer got although it was taken. By resource from the pods' requests alone, and by
// GPU from the records.
func (d *deviceCheck) overcommitted(node string, newcomer holding) []string {
	inventory, known := d.inventories[node]
	if !known {
		return []string{fmt.Sprintf("pod %s is on %s, which no test made", newcomer.pod, node)}
	}
	var faults []string
	used := map[string]int{}
	wholes, slots := map[int]int{}, map[int]int{}
	profiles := map[string]int{}
	slices := map[[2]int]int{} // by GPU and slice
	for _, holder := range d.holders[node] {
		for resource, count := range holder.requests {
			used[resource] += count
		}
		for _, device := range holder.devices {
			switch {
			case device.Kind == "mig" && inventory.Slices > 0:
				for _, slice := range device.slices() {
					slices[slice]++
				}
			case device.Kind == "mig":
				profiles[device.Profile]++
			case device.GPU == nil:
			case device.Kind == "whole":
				wholes[*device.GPU]++
			case device.Kind == "slot":
				slots[*device.GPU]++
			}
		}
	}
	for resource := range newcomer.requests {
		isCut := inventory.Slices > 0 && strings.HasPrefix(resource, resourcePrefix+"mig-")
		if !isCut && used[resource] > inventory.Counts[resource] {
			faults = append(faults, fmt.Sprintf("%s: %d of %d %s given, the last to %s", node,
				used[resource], inventory.Counts[resource], resource, newcomer.pod))
		}
	}
	for _, device := range newcomer.devices {
		if device.Kind == "mig" && inventory.Slices > 0 {
			faults = append(faults, instanceFaults(node, newcomer.pod, device, inventory, slices)...)
			continue
		}
		faults = append(faults,
			deviceFaults(node, newcomer.pod, device, inventory, wholes, slots, profiles)...)
	}
	return faults
}

// The GPU and the memory slices of an instance whose place is known.
func (d Device) slices() [][2]int {
	if d.GPU == nil || d.Start == nil {
		return nil
	}
	var slices [][2]int
	for i := range d.Size {
		slices = append(slices, [2]int{*d.GPU, *d.Start + i})
	}
	return slices
}

// What is wrong with an instance that an agent is to make: no place, one beyond the GPU, or one
// that another has.
func instanceFaults(node, pod string, device Device, inventory Inventory,
	slices map[[2]int]int) []string {
	taken := device.slices()
	if len(taken) == 0 {
		return []string{fmt.Sprintf("%s: the record of %s does not say where %s is", node, pod,
			device.Profile)}
	}
	var faults []string
	for _, slice := range taken {
		if slice[0] < 0 || slice[0] >= inventory.GPUs || slice[1] < 0 || slice[1] >= inventory.Slices {
			faults = append(faults, fmt.Sprintf("%s: %s got slice %d of GPU %d, which is not there",
				node, pod, slice[1], slice[0]))
		} else if slices[slice] > 1 {
			faults = append(faults, fmt.Sprintf("%s: slice %d of GPU %d is given %d times, the last to %s",
				node, slice[1], slice[0], slices[slice], pod))
		}
	}
	return faults
}

func deviceFaults(node, pod string, device Device, inventory Inventory, wholes, slots map[int]int,
	profiles map[string]int) []string {
	if device.Kind == "mig" {
		count := inventory.Counts[resourcePrefix+"mig-"+device.Profile]
		if profiles[device.Profile] <= count {
			return nil
		}
		return []string{fmt.Sprintf("%s: %d of %d instances %s given, the last to %s", node,
			profiles[device.Profile], count, device.Profile, pod)}
	}
	if device.GPU == nil {
		return []string{fmt.Sprintf("%s: the record of %s does not say which GPU", node, pod)}
	}
	gpu := *device.GPU
	if gpu < 0 || gpu >= inventory.GPUs {
		return []string{fmt.Sprintf("%s: %s got GPU %d of %d", node, pod, gpu, inventory.GPUs)}
	}
	if wholes[gpu] > 1 || (wholes[gpu] == 1 && slots[gpu] > 0) || slots[gpu] > inventory.Replicas {
		return []string{fmt.Sprintf(
			"%s: GPU %d is given %d times whole and in %d slots of %d, the last to %s",
			node, gpu, wholes[gpu], slots[gpu], inventory.Replicas, pod)}
	}
	return nil
}

// The extended resources of the pod's containers, added up.
func gpuRequests(pod *corev1.Pod) map[string]int {
	requests := map[string]int{}
	for _, container := range pod.Spec.Containers {
		for name, quantity := range container.Resources.Limits {
			if strings.HasPrefix(string(name), resourcePrefix) && quantity.Value() > 0 {
				requests[string(name)] += int(quantity.Value())
			}
		}
	}
	return requests
}

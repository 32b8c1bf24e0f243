package cluster

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// NodeKind is a node as GPU feature discovery and the device plugin describe it.
type NodeKind struct {
	product   string
	family    string
	compute   [2]int // capability, major and minor
	memoryMiB int
	gpus      int
	replicas  int    // slots on each GPU
	sharing   string // none, time-slicing, mps
	resource  string // the name under which GPUs or slots are advertised
	instances []instances
	cut       bool   // by an agent, which says in an annotation what it can make of the GPUs
	agent     string // what it is called if it makes what records say; "": it chooses itself
}

// MIG instances of one profile on all GPUs of a node together.
type instances struct {
	profile   string
	memoryMiB int
	slices    int // compute slices of one instance
	count     int
}

var (
	a100 = NodeKind{product: "NVIDIA-A100-SXM4-40GB", family: "ampere", compute: [2]int{8, 0},
		memoryMiB: 40960, replicas: 1, sharing: "none", resource: "nvidia.com/gpu"}
	t4 = NodeKind{product: "Tesla-T4", family: "turing", compute: [2]int{7, 5},
		memoryMiB: 15360, replicas: 1, sharing: "none", resource: "nvidia.com/gpu"}
	l40s = NodeKind{product: "NVIDIA-L40S", family: "ada-lovelace", compute: [2]int{8, 9},
		memoryMiB: 46068, replicas: 1, sharing: "none", resource: "nvidia.com/gpu"}
)

// WholeA100x40 is a node of whole A100 with 40 GB.
func WholeA100x40(gpus int) NodeKind {
	kind := a100
	kind.gpus = gpus
	return kind
}

// WholeA100x80 is a node of whole A100 with 80 GB.
func WholeA100x80(gpus int) NodeKind {
	kind := WholeA100x40(gpus)
	kind.product, kind.memoryMiB = "NVIDIA-A100-SXM4-80GB", 81920
	return kind
}

// MixedA100 has two A100 40GB, cut once for all into four 1g.5gb, two 2g.10gb and two 3g.20gb
// (strategy mixed).
func MixedA100() NodeKind {
	kind := a100
	kind.gpus = 2
	kind.instances = []instances{
		{"1g.5gb", 4864, 1, 4}, {"2g.10gb", 9856, 2, 2}, {"3g.20gb", 19968, 3, 2},
	}
	return kind
}

// OneInstanceA100 has one A100 40GB with one 3g.20gb instance on it and nothing else.
func OneInstanceA100() NodeKind {
	kind := a100
	kind.gpus = 1
	kind.instances = []instances{{"3g.20gb", 19968, 3, 1}}
	return kind
}

// HAMiA100 has A100 40GB in MIG mode with nothing on them, and an agent that chooses itself what to
// make of them.
func HAMiA100(gpus int) NodeKind {
	kind := a100
	kind.gpus, kind.cut = gpus, true
	return kind
}

// AgentA100 is such a node with an agent that makes the instances that pods have on record.
func AgentA100(gpus int) NodeKind {
	kind := HAMiA100(gpus)
	kind.agent = "dynamic-mig"
	return kind
}

// WholeT4 is a node of whole T4.
func WholeT4(gpus int) NodeKind {
	kind := t4
	kind.gpus = gpus
	return kind
}

// TimeSlicedT4 shares each T4 under the plain name.
func TimeSlicedT4(gpus, replicas int) NodeKind {
	kind := WholeT4(gpus)
	kind.product, kind.replicas, kind.sharing = "Tesla-T4-SHARED", replicas, "time-slicing"
	return kind
}

// RenamedT4 shares each T4 as nvidia.com/gpu.shared.
func RenamedT4(gpus, replicas int) NodeKind {
	kind := TimeSlicedT4(gpus, replicas)
	kind.product, kind.resource = "Tesla-T4", "nvidia.com/gpu.shared"
	return kind
}

// MPSL40S shares each L40S by MPS, in slots of equal memory.
func MPSL40S(gpus, replicas int) NodeKind {
	kind := l40s
	kind.product, kind.sharing = "NVIDIA-L40S-SHARED", "mps"
	kind.gpus, kind.replicas = gpus, replicas
	return kind
}

// CPUOnly has no GPU.
func CPUOnly() NodeKind { return NodeKind{} }

// Inventory returns what the device plugin of such a node has to give.
func (k NodeKind) Inventory() Inventory {
	inventory := Inventory{GPUs: k.gpus, Replicas: k.replicas, Counts: map[string]int{}}
	if len(k.instances) > 0 {
		inventory.GPUs = 0
	}
	if inventory.GPUs > 0 {
		inventory.Counts[k.resource] = k.gpus * k.replicas
	}
	if k.cut {
		inventory.Slices = a100Slices
	}
	for _, cut := range k.instances {
		inventory.Counts["nvidia.com/mig-"+cut.profile] = cut.count
	}
	return inventory
}

// The labels that GPU feature discovery and the MIG manager write.
func (k NodeKind) labels(name string) map[string]string {
	labels := map[string]string{
		"kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux", "kubernetes.io/hostname": name,
	}
	if k.gpus == 0 {
		return labels
	}
	maps.Copy(labels, map[string]string{
		"nvidia.com/gpu.present":          "true",
		"nvidia.com/gpu.product":          k.product,
		"nvidia.com/gpu.family":           k.family,
		"nvidia.com/gpu.compute.major":    strconv.Itoa(k.compute[0]),
		"nvidia.com/gpu.compute.minor":    strconv.Itoa(k.compute[1]),
		"nvidia.com/gpu.count":            strconv.Itoa(k.gpus),
		"nvidia.com/gpu.memory":           strconv.Itoa(k.memoryMiB),
		"nvidia.com/gpu.mode":             "compute",
		"nvidia.com/gpu.replicas":         strconv.Itoa(k.replicas),
		"nvidia.com/gpu.sharing-strategy": k.sharing,
		"nvidia.com/mig.capable":          strconv.FormatBool(k.family == "ampere"),
		"nvidia.com/mig.strategy":         "none",
		"nvidia.com/mps.capable":          strconv.FormatBool(k.sharing == "mps"),
	})
	if k.agent != "" {
		labels["offcut.dev/agent"] = k.agent
	}
	for _, cut := range k.instances {
		prefix := "nvidia.com/mig-" + cut.profile + "."
		labels["nvidia.com/mig.strategy"] = "mixed"
		labels["nvidia.com/mig.config"] = "custom"
		labels["nvidia.com/mig.config.state"] = "success"
		labels[prefix+"count"] = strconv.Itoa(cut.count)
		labels[prefix+"memory"] = strconv.Itoa(cut.memoryMiB)
		labels[prefix+"product"] = k.product + "-MIG-" + cut.profile
		labels[prefix+"replicas"] = "1"
		labels[prefix+"sharing-strategy"] = "none"
		labels[prefix+"slices.ci"] = strconv.Itoa(cut.slices)
		labels[prefix+"slices.gi"] = strconv.Itoa(cut.slices)
	}
	return labels
}

// The memory slices of an A100, seven of which have compute.
const a100Slices = 8

type placement struct {
	Start int `json:"start"`
	Size  int `json:"size"`
}

type migProfile struct {
	Name       string      `json:"name"`
	MemoryMiB  int         `json:"memoryMB"`
	Compute    int         `json:"sliceCount"`
	Placements []placement `json:"placements"`
}

// The profiles of an A100 40GB and where they may stand.
func a100Profiles() []migProfile {
	profile := func(name string, memoryMiB, compute, size int, starts ...int) migProfile {
		made := migProfile{Name: name, MemoryMiB: memoryMiB, Compute: compute}
		for _, start := range starts {
			made.Placements = append(made.Placements, placement{start, size})
		}
		return made
	}
	return []migProfile{
		profile("1g.5gb", 4864, 1, 1, 0, 1, 2, 3, 4, 5, 6), profile("2g.10gb", 9856, 2, 2, 0, 2, 4),
		profile("3g.20gb", 19968, 3, 4, 0, 4), profile("4g.20gb", 19968, 4, 4, 0),
		profile("7g.40gb", 40192, 7, a100Slices, 0),
	}
}

// What an agent writes of the node's GPUs; nil where there is none.
func (k NodeKind) annotations() map[string]string {
	if !k.cut {
		return nil
	}
	devices := make([]map[string]any, k.gpus)
	for i := range devices {
		devices[i] = map[string]any{
			"id": fmt.Sprintf("GPU-%d", i), "index": i, "count": 1, "devmem": k.memoryMiB,
			"devcore": 100, "type": "NVIDIA-" + k.product, "mode": "mig", "health": true,
			"migProfiles": a100Profiles(),
		}
	}
	text, err := json.Marshal(devices)
	if err != nil {
		panic(err) // only values that we made ourselves
	}
	return map[string]string{"hami.io/node-nvidia-register": string(text)}
}

func (k NodeKind) capacity() corev1.ResourceList {
	list := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("96"),
		corev1.ResourceMemory: resource.MustParse("1031996Mi"),
		corev1.ResourcePods:   resource.MustParse("110"),
	}
	for name, count := range k.Inventory().Counts {
		list[corev1.ResourceName(name)] = *resource.NewQuantity(int64(count), resource.DecimalSI)
	}
	return list
}

// CreateNode makes a ready node that takes pods.
func (c *Cluster) CreateNode(name string, kind NodeKind) {
	c.t.Helper()
	c.Pods.devices.setInventory(name, kind.Inventory())
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: kind.labels(name), Annotations: kind.annotations(),
		},
		Status: corev1.NodeStatus{
			Capacity: kind.capacity(), Allocatable: kind.capacity(),
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
	nodes := c.Client.CoreV1().Nodes()
	if _, err := nodes.Create(c.t.Context(), node, metav1.CreateOptions{}); err != nil {
		c.t.Errorf("node %s: %v", name, err)
		return
	}
	// Admission taints every new node not-ready; the node lifecycle controller would take that away.
	_, err := nodes.Patch(c.t.Context(), name, types.MergePatchType,
		[]byte(`{"spec": {"taints": null}}`), metav1.PatchOptions{})
	if err != nil {
		c.t.Errorf("taints of node %s: %v", name, err)
	}
}

// CreateNodes makes nodes PREFIX-00 and so on, several at a time, and returns their names.
func (c *Cluster) CreateNodes(prefix string, count int, kind NodeKind) []string {
	c.t.Helper()
	names := Names(prefix, count)
	inParallel(names, func(name string) { c.CreateNode(name, kind) })
	return names
}

// ChangeNode makes the node one of another kind in place, as a new device plugin configuration
// does: labels first, then what is allocatable.
func (c *Cluster) ChangeNode(name string, kind NodeKind) {
	c.t.Helper()
	c.Pods.devices.setInventory(name, kind.Inventory())
	c.patchNode(name, "", map[string]any{"metadata": map[string]any{"labels": kind.labels(name)}})
	c.patchNode(name, "status", map[string]any{"status": map[string]any{
		"capacity": kind.capacity(), "allocatable": kind.capacity(),
	}})
}

// SetAllocatable changes what the node says of one resource, as kubelet does when the device plugin
// comes or goes. The devices themselves stay, and so do those who hold them.
func (c *Cluster) SetAllocatable(node, name string, count int) {
	c.t.Helper()
	c.patchNode(node, "status", map[string]any{"status": map[string]any{
		"allocatable": map[string]any{name: strconv.Itoa(count)},
	}})
}

// DeleteNode deletes the Node object. Its pods stay: no controller runs here that removes them.
func (c *Cluster) DeleteNode(name string) {
	c.t.Helper()
	if err := c.Client.CoreV1().Nodes().Delete(c.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		c.t.Fatal(err)
	}
}

func (c *Cluster) patchNode(name, subresource string, patch map[string]any) {
	c.t.Helper()
	text, err := json.Marshal(patch)
	if err != nil {
		c.t.Fatal(err)
	}
	var subresources []string
	if subresource != "" {
		subresources = append(subresources, subresource)
	}
	_, err = c.Client.CoreV1().Nodes().Patch(c.t.Context(), name, types.MergePatchType, text,
		metav1.PatchOptions{}, subresources...)
	if err != nil {
		c.t.Fatalf("node %s: %v", name, err)
	}
}

// Names returns PREFIX-00, PREFIX-01 and so on.
func Names(prefix string, count int) []string {
	names := make([]string, count)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%02d", prefix, i)
	}
	return names
}

// Calls for each item, eight at a time, and returns when all are done.
func inParallel[T any](items []T, call func(T)) {
	const workers = 8
	queue := make(chan T)
	var group sync.WaitGroup
	for range min(workers, len(items)) {
		group.Go(func() {
			for item := range queue {
				call(item)
			}
		})
	}
	for _, item := range items {
		queue <- item
	}
	close(queue)
	group.Wait()
}

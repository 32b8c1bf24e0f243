package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

// DevicesAnnotation holds the device record that Offcut writes with a binding.
const DevicesAnnotation = "offcut.dev/devices"

// Binding is how a pod was first seen with a node.
type Binding struct {
	Node       string
	Seen       time.Time
	WithRecord bool // the very event that showed the node showed the device record
}

// PodTracker follows all pods by one watch, in the order of the API server, and checks at each
// event that no device has been given twice.
type PodTracker struct {
	t       testing.TB
	client  kubernetes.Interface
	devices *deviceCheck

	mutex     sync.Mutex
	pods      map[types.UID]*corev1.Pod
	bindings  map[types.UID]Binding
	preempted map[types.UID]*corev1.Pod // by a scheduler; also those that are gone
	nominated map[types.UID]string      // the last node that was promised
	changed   chan struct{}             // closed at the next event
	onPod     func(*corev1.Pod)         // the stub kubelet
	check     func(pod *corev1.Pod, deleted bool) error
}

func trackPods(c *Cluster) *PodTracker {
	tracker := &PodTracker{
		t: c.t, client: c.Client, devices: newDeviceCheck(),
		pods: map[types.UID]*corev1.Pod{}, bindings: map[types.UID]Binding{},
		preempted: map[types.UID]*corev1.Pod{}, nominated: map[types.UID]string{},
		changed: make(chan struct{}),
	}
	run(c.t, tracker.follow)
	return tracker
}

// Runs a loop until the test ends, and waits for it then: nothing may report to an ended test.
func run(t testing.TB, loop func(context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		loop(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
}

// Waits before another try at a server that may be down. Reports whether to go on.
func pause(ctx context.Context) bool { return sleep(ctx, 100*time.Millisecond) }

// Reports whether to go on after that time.
func sleep(ctx context.Context, duration time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(duration):
		return true
	}
}

func (p *PodTracker) follow(ctx context.Context) {
	for ctx.Err() == nil {
		list, err := p.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
		if err != nil {
			pause(ctx)
			continue
		}
		p.replace(list.Items)
		p.watchFrom(ctx, list.ResourceVersion)
	}
}

// Returns when only a new list helps, or at the end.
func (p *PodTracker) watchFrom(ctx context.Context, version string) {
	for ctx.Err() == nil {
		stream, err := p.client.CoreV1().Pods("").Watch(ctx, metav1.ListOptions{
			ResourceVersion: version, AllowWatchBookmarks: true,
		})
		if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			return
		}
		if err != nil {
			pause(ctx)
			continue
		}
		for event := range stream.ResultChan() {
			pod, isPod := event.Object.(*corev1.Pod)
			if !isPod { // an ERROR: its Status says why
				stream.Stop()
				return
			}
			version = pod.ResourceVersion
			if event.Type != watch.Bookmark {
				p.apply(pod, event.Type == watch.Deleted)
			}
		}
	}
}

func (p *PodTracker) replace(pods []corev1.Pod) {
	listed := map[types.UID]bool{}
	for i := range pods {
		listed[pods[i].UID] = true
	}
	p.mutex.Lock()
	var gone []*corev1.Pod
	for uid, pod := range p.pods {
		if !listed[uid] {
			gone = append(gone, pod)
		}
	}
	p.mutex.Unlock()
	for _, pod := range gone {
		p.apply(pod, true)
	}
	for i := range pods {
		p.apply(&pods[i], false)
	}
}

func (p *PodTracker) apply(pod *corev1.Pod, deleted bool) {
	p.mutex.Lock()
	if deleted {
		delete(p.pods, pod.UID)
	} else {
		p.pods[pod.UID] = pod
	}
	node := pod.Spec.NodeName
	if first, known := p.bindings[pod.UID]; node != "" && !known {
		_, recorded := pod.Annotations[DevicesAnnotation]
		p.bindings[pod.UID] = Binding{Node: node, Seen: time.Now(), WithRecord: recorded}
	} else if known && first.Node != node {
		p.t.Errorf("pod %s moved from %s to %q", pod.Name, first.Node, node)
	}
	if isPreempted(pod) {
		p.preempted[pod.UID] = pod
	}
	if pod.Status.NominatedNodeName != "" {
		p.nominated[pod.UID] = pod.Status.NominatedNodeName
	}
	for _, fault := range p.devices.apply(pod, deleted) {
		p.t.Error(fault)
	}
	if p.check != nil {
		if err := p.check(pod, deleted); err != nil {
			p.t.Error(err)
		}
	}
	onPod := p.onPod
	close(p.changed)
	p.changed = make(chan struct{})
	p.mutex.Unlock()
	if onPod != nil && !deleted {
		onPod(pod)
	}
}

// kube-scheduler marks each victim before it deletes it.
func isPreempted(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(condition corev1.PodCondition) bool {
		return condition.Type == corev1.DisruptionTarget &&
			condition.Reason == corev1.PodReasonPreemptionByScheduler
	})
}

// CheckEach has each further event checked, in the order of the API server; an error fails the test.
func (p *PodTracker) CheckEach(check func(pod *corev1.Pod, deleted bool) error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.check = check
}

// All returns the pods as last seen, by name.
func (p *PodTracker) All() []*corev1.Pod {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return byName(p.pods)
}

func byName(all map[types.UID]*corev1.Pod) []*corev1.Pod {
	pods := make([]*corev1.Pod, 0, len(all))
	for _, pod := range all {
		pods = append(pods, pod)
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return pods
}

// Latest returns the newest state of a pod, or nil when it is gone.
func (p *PodTracker) Latest(uid types.UID) *corev1.Pod {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.pods[uid]
}

// BindingOf returns how the pod was first seen bound; false when it never was.
func (p *PodTracker) BindingOf(uid types.UID) (Binding, bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	binding, bound := p.bindings[uid]
	return binding, bound
}

// Preempted returns all pods that a scheduler has evicted so far, by name.
func (p *PodTracker) Preempted() []*corev1.Pod {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return byName(p.preempted)
}

// Nominated returns the last node that a scheduler promised to the pod, or "" without any.
func (p *PodTracker) Nominated(uid types.UID) string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.nominated[uid]
}

// Wait returns once the condition holds for the pods that exist, looked at after every event.
func (p *PodTracker) Wait(t testing.TB, timeout time.Duration, what string,
	condition func([]*corev1.Pod) bool) {
	t.Helper()
	if !p.Within(timeout, condition) {
		t.Fatalf("not within %v: %s\n%s", timeout, what, describe(p.All()))
	}
}

// Within reports whether the condition came to hold before the time was over.
func (p *PodTracker) Within(timeout time.Duration, condition func([]*corev1.Pod) bool) bool {
	deadline := time.After(timeout)
	for {
		p.mutex.Lock()
		pods, changed := byName(p.pods), p.changed
		p.mutex.Unlock()
		if condition(pods) {
			return true
		}
		select {
		case <-changed:
		case <-deadline:
			return false
		}
	}
}

// Running reports whether all pods of these names exist and run.
func Running(names ...string) func([]*corev1.Pod) bool {
	return each(names, func(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodRunning })
}

// Gone reports whether no pod of these names exists.
func Gone(names ...string) func([]*corev1.Pod) bool {
	return func(pods []*corev1.Pod) bool {
		return !slices.ContainsFunc(pods, func(pod *corev1.Pod) bool {
			return slices.Contains(names, pod.Name)
		})
	}
}

// Unscheduled reports whether each pod waits with that reason in its PodScheduled condition:
// "Unschedulable" when the scheduler found no node, "SchedulerError" when it could not tell.
func Unscheduled(reason string, names ...string) func([]*corev1.Pod) bool {
	return each(names, func(pod *corev1.Pod) bool {
		condition := ScheduledCondition(pod)
		return pod.Spec.NodeName == "" && condition.Status == corev1.ConditionFalse &&
			condition.Reason == reason
	})
}

func each(names []string, holds func(*corev1.Pod) bool) func([]*corev1.Pod) bool {
	return func(pods []*corev1.Pod) bool {
		count := 0
		for _, pod := range pods {
			if slices.Contains(names, pod.Name) {
				if !holds(pod) {
					return false
				}
				count++
			}
		}
		return count == len(names)
	}
}

// ScheduledCondition returns the pod's PodScheduled condition, or an empty one.
func ScheduledCondition(pod *corev1.Pod) corev1.PodCondition {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled {
			return condition
		}
	}
	return corev1.PodCondition{}
}

// What a person needs to see why a wait ended in vain: counts, and the first few that wait.
func describe(pods []*corev1.Pod) string {
	const shown = 5
	phases := map[corev1.PodPhase]int{}
	var waiting []string
	for _, pod := range pods {
		phases[pod.Status.Phase]++
		if pod.Spec.NodeName == "" {
			condition := ScheduledCondition(pod)
			waiting = append(waiting, fmt.Sprintf("  %s waits: %s: %s", pod.Name, condition.Reason,
				condition.Message))
		}
	}
	text := fmt.Sprintf("%d pods %v, %d without a node", len(pods), phases, len(waiting))
	return strings.Join(append([]string{text}, waiting[:min(shown, len(waiting))]...), "\n")
}

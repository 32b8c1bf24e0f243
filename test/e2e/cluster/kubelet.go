package cluster

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// KubeletOptions says how the stub in the kubelets' place behaves. It always marks bound pods
// Running, fails those whose activeDeadlineSeconds are over, and removes those that are to be
// deleted.
type KubeletOptions struct {
	// If set, completes pods that have run for so long: their devices are free again.
	CompleteAfter time.Duration
	// If set, pods that a scheduler evicts end so much later, as real ones do. One that is gone at
	// once may be gone before the scheduler has seen its own nomination of the preemptor.
	EndEvictedAfter time.Duration
	// If set, gives the device id that the plugin would have handed out for a device of the record;
	// it is reported in the pod's status, as kubelet does from Kubernetes 1.36.
	DeviceID func(node string, device Device) string
}

// How many pods the stub serves at once.
const kubeletWorkers = 8

type kubelet struct {
	cluster *Cluster
	options KubeletOptions
	mutex   sync.Mutex
	queued  map[types.UID]bool
	queue   chan types.UID
}

func startKubelet(c *Cluster, options KubeletOptions) {
	k := &kubelet{
		cluster: c, options: options,
		queued: map[types.UID]bool{}, queue: make(chan types.UID, 100_000),
	}
	for range kubeletWorkers {
		run(c.t, k.work)
	}
	c.Pods.mutex.Lock()
	c.Pods.onPod = k.enqueue
	c.Pods.mutex.Unlock()
}

func (k *kubelet) enqueue(pod *corev1.Pod) {
	if pod.Spec.NodeName == "" {
		return
	}
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if !k.queued[pod.UID] {
		k.queued[pod.UID] = true
		k.queue <- pod.UID
	}
}

func (k *kubelet) work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case uid := <-k.queue:
			k.mutex.Lock()
			delete(k.queued, uid)
			k.mutex.Unlock()
			pod := k.cluster.Pods.Latest(uid)
			for pod != nil && k.serve(ctx, pod) != nil && pause(ctx) {
				pod = k.cluster.Pods.Latest(uid)
			}
		}
	}
}

// Takes the next step of the pod's life, if there is one.
func (k *kubelet) serve(ctx context.Context, pod *corev1.Pod) error {
	pods := k.cluster.Client.CoreV1().Pods(pod.Namespace)
	var err error
	switch {
	case pod.DeletionTimestamp != nil:
		if isPreempted(pod) && !sleep(ctx, k.options.EndEvictedAfter) {
			return nil
		}
		err = pods.Delete(ctx, pod.Name, atOnce(pod.UID))
	case pod.Status.Phase == corev1.PodPending:
		_, err = pods.Patch(ctx, pod.Name, types.StrategicMergePatchType, k.runningStatus(pod),
			metav1.PatchOptions{}, "status")
	case pod.Status.Phase == corev1.PodRunning && pod.Spec.ActiveDeadlineSeconds != nil:
		deadline := time.Duration(*pod.Spec.ActiveDeadlineSeconds) * time.Second
		if left := time.Until(pod.Status.StartTime.Add(deadline)); left > 0 {
			time.AfterFunc(left, func() { k.enqueue(pod) })
			return nil
		}
		_, err = pods.Patch(ctx, pod.Name, types.StrategicMergePatchType,
			statusPatch(pod, corev1.PodFailed, nil), metav1.PatchOptions{}, "status")
	case pod.Status.Phase == corev1.PodRunning && k.options.CompleteAfter > 0:
		if !sleep(ctx, k.options.CompleteAfter) {
			return nil
		}
		_, err = pods.Patch(ctx, pod.Name, types.StrategicMergePatchType,
			statusPatch(pod, corev1.PodSucceeded, nil), metav1.PatchOptions{}, "status")
	}
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // it is another pod's name by now
		return nil
	}
	return err
}

// As a kubelet deletes: no grace, and this pod alone.
func atOnce(uid types.UID) metav1.DeleteOptions {
	options := *metav1.NewPreconditionDeleteOptions(string(uid))
	options.GracePeriodSeconds = new(int64)
	return options
}

func (k *kubelet) runningStatus(pod *corev1.Pod) []byte {
	var statuses []corev1.ContainerStatus
	if k.options.DeviceID != nil {
		statuses = k.containerStatuses(pod)
	}
	return statusPatch(pod, corev1.PodRunning, statuses)
}

// The uid makes the patch a conflict when the name is another pod's by now.
func statusPatch(pod *corev1.Pod, phase corev1.PodPhase, statuses []corev1.ContainerStatus) []byte {
	ready := corev1.ConditionFalse
	if phase == corev1.PodRunning {
		ready = corev1.ConditionTrue
	}
	status := map[string]any{
		"phase":      phase,
		"conditions": []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}},
	}
	if phase == corev1.PodRunning && pod.Spec.ActiveDeadlineSeconds != nil {
		status["startTime"] = metav1.Now()
	}
	if statuses != nil {
		status["containerStatuses"] = statuses
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID}, "status": status,
	})
	if err != nil {
		panic(err) // only values that we made ourselves
	}
	return patch
}

func (k *kubelet) containerStatuses(pod *corev1.Pod) []corev1.ContainerStatus {
	record, err := RecordOf(pod)
	if err != nil {
		return nil // the device check has said so
	}
	var statuses []corev1.ContainerStatus
	for _, container := range pod.Spec.Containers {
		status := corev1.ContainerStatus{
			Name: container.Name, Image: container.Image, ImageID: "e2e", Ready: true,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		}
		ids := map[corev1.ResourceName][]corev1.ResourceHealth{}
		for _, device := range record.Devices {
			if device.Container == container.Name {
				resource := resourceOf(container, device)
				ids[resource] = append(ids[resource], corev1.ResourceHealth{
					ResourceID: corev1.ResourceID(k.options.DeviceID(record.Node, device)),
					Health:     corev1.ResourceHealthStatusHealthy,
				})
			}
		}
		for resource, health := range ids {
			status.AllocatedResourcesStatus = append(status.AllocatedResourcesStatus,
				corev1.ResourceStatus{Name: resource, Resources: health})
		}
		statuses = append(statuses, status)
	}
	return statuses
}

// The name under which the container asked for such a device.
func resourceOf(container corev1.Container, device Device) corev1.ResourceName {
	if device.Kind == "mig" {
		return corev1.ResourceName(resourcePrefix + "mig-" + device.Profile)
	}
	for _, name := range []corev1.ResourceName{"nvidia.com/gpu", "nvidia.com/gpu.shared"} {
		if _, asked := container.Resources.Limits[name]; asked {
			return name
		}
	}
	return ""
}

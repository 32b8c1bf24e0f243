package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"offcut.dev/e2e/cluster"
)

// Three nodes refuse the model and two the second slot, so the message reads
// `0/5 nodes are available: 2 <why>, 3 <why>.`
func TestMessageOfAnUnschedulablePodCountsNodesByReason(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cluster.KubeletOptions{})
	nodes := w.CreateNodes("a100", 3, cluster.WholeA100x40(8))
	nodes = append(nodes, w.CreateNodes("mps", 2, cluster.MPSL40S(2, 4))...)
	w.schedule(cluster.SchedulerOptions{})
	pod := annotated(cluster.Pod("picky", "nvidia.com/gpu", 2), "offcut.dev/gpu-models", "!A100*")
	w.CreatePods(pod)
	w.Pods.Wait(t, soon, "pod is refused", cluster.Unscheduled("Unschedulable", "picky"))

	message := cluster.ScheduledCondition(w.Pods.Latest(pod.UID)).Message
	filters := w.extender.CallsFor("filter", pod.UID)
	counts := map[string]int{}
	answer := filters[len(filters)-1].Filter(t)
	for _, reason := range answer.FailedNodes {
		counts[reason]++
	}
	for _, reason := range answer.FailedAndUnresolvableNodes {
		counts[reason]++
	}
	if len(counts) != 2 || !strings.HasPrefix(message, "0/5 nodes are available: ") {
		t.Errorf("two reasons expected for five nodes, not %v: %s", counts, message)
	}
	for reason, count := range counts {
		if text := fmt.Sprintf("%d %s", count, reason); strings.Count(message, text) != 1 {
			t.Errorf("%q should be there once: %s", text, message)
		}
	}
	for _, node := range nodes {
		if strings.Contains(message, node) {
			t.Errorf("a node's name makes every message another one: %s", message)
		}
	}
}

func TestFreedGPUWakesThePodThatWaitsForIt(t *testing.T) {
	t.Parallel()
	requireFreedGPUsWake(t, 0)
}

// The scheduler sees the deletion, asks at once, and gets a no from a state that is a second old.
// Nothing else happens in the cluster that would make it ask again.
func TestFreedGPUWakesThePodAlsoWhenOffcutsWatchLags(t *testing.T) {
	t.Parallel()
	requireFreedGPUsWake(t, time.Second)
}

func requireFreedGPUsWake(t *testing.T, lag time.Duration) {
	w := newWorld(t, cluster.KubeletOptions{})
	w.CreateNode("full", cluster.WholeA100x40(8))
	w.schedule(cluster.SchedulerOptions{})
	holders := cluster.Pods("holder", 8, "nvidia.com/gpu", 1)
	w.runPods(t, holders...)
	w.api.SetDelay(lag)
	stale := 0
	for round, holder := range holders[:5] {
		waiting := cluster.Pod(fmt.Sprintf("waiting-%d", round), "nvidia.com/gpu", 1)
		w.CreatePods(waiting)
		w.Pods.Wait(t, soon, "pod waits", cluster.Unscheduled("Unschedulable", waiting.Name))
		w.DeletePods(holder.Name)
		w.Pods.Wait(t, soon, "freed GPU is taken", cluster.Running(waiting.Name))
		for _, call := range w.extender.CallsFor("filter", waiting.UID) {
			if len(call.Filter(t).NodeNames) == 0 {
				stale++
			}
		}
	}
	if lag > 0 && stale == 0 {
		t.Error("no filter was answered from the old state: this test met no lag")
	}
}

// In-tree plugins find room on each of the 40 nodes, Offcut alone refuses, and each node has a pod
// of lower priority. A refusal that is reported as one that eviction may cure makes the scheduler
// write another message at each attempt, and each message wakes the pod: over 1,000 in a minute.
func TestRefusedPodOfHighPriorityIsNotTriedAgainAndAgain(t *testing.T) {
	t.Parallel()
	const attemptsPerMinute = 6
	w := newWorld(t, cluster.KubeletOptions{})
	w.CreatePriorityClass("high", 1000)
	nodes := w.CreateNodes("a100", 40, cluster.WholeA100x40(2))
	w.schedule(cluster.SchedulerOptions{})
	var victims []*corev1.Pod
	for _, node := range nodes {
		victims = append(victims, onNode(cluster.Pod("on-"+node, "nvidia.com/gpu", 1), node))
	}
	w.runPods(t, victims...)

	refused := annotated(cluster.Pod("refused", "nvidia.com/gpu", 1), "offcut.dev/gpu-models", "H100*")
	refused.Spec.PriorityClassName = "high"
	w.CreatePods(refused)
	w.Pods.Wait(t, soon, "pod is refused", cluster.Unscheduled("Unschedulable", "refused"))
	// A minute of nothing else: what counts is what the scheduler does by itself.
	evicted := w.Pods.Within(time.Minute, func(pods []*corev1.Pod) bool { return bound(pods) < 40 })
	if evicted {
		t.Error("a pod was evicted for one that fits nowhere")
	}
	attempts := len(w.extender.CallsFor("filter", refused.UID))
	if attempts == 0 || attempts > attemptsPerMinute {
		t.Errorf("%d attempts in a minute, %d at most", attempts, attemptsPerMinute)
	}
	t.Logf("%d attempts in a minute", attempts)
}

package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"offcut.dev/e2e/cluster"
)

// Those of the pods that belong to the Deployment.
func ofDeployment(name string, pods []*corev1.Pod) []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool {
		return pod.Labels[cluster.AppLabel] != name
	})
}

func deploymentRuns(name string, count int) func([]*corev1.Pod) bool {
	return func(pods []*corev1.Pod) bool { return running(ofDeployment(name, pods)) == count }
}

// Four GPUs, four pods of the Deployment `low`. Two pods of high priority come, then two more while
// Offcut sees everything a second late. The ReplicaSet makes another pod for each victim the moment
// it is marked for deletion; that one wants the very GPU, and must not get it. In the end each of
// the four has one victim, and none of the pods that were made again has ever had a node.
func TestCase13VictimsThatAreMadeAgainDoNotTakeBackTheirGPUs(t *testing.T) {
	t.Parallel()
	w := newPreemptionWorld(t)
	w.StartControllerManager()
	w.CreateNodes("gpu", 2, cluster.WholeA100x40(2))
	scheduler := w.schedule(cluster.SchedulerOptions{})
	w.CreateDeployment(withPriority(cluster.Pod("low", gpu, 1), "low"), 4)
	w.Pods.Wait(t, soon, "the Deployment runs", deploymentRuns("low", 4))
	first := map[types.UID]bool{}
	for _, pod := range w.Pods.All() {
		first[pod.UID] = true
	}

	for round, lag := range []time.Duration{0, time.Second} {
		w.api.SetDelay(lag)
		w.runPods(t, withPriorities("high",
			cluster.Pods(fmt.Sprintf("high-%d", round), 2, gpu, 1))...)
		victims := 2 * (round + 1)
		w.waitMadeAgain(t, "low", 4-victims, victims)
		// All of them are tried again, and change nothing.
		before := unschedulableAttempts(scheduler)
		passing := cluster.Pod(fmt.Sprintf("passing-%d", round), "", 0)
		w.runPods(t, passing)
		w.DeletePods(passing.Name)
		cluster.Eventually(t, soon, "waiting pods are tried again", func() error {
			if now := unschedulableAttempts(scheduler); now < before+float64(victims) {
				return fmt.Errorf("%v attempts", now-before)
			}
			return nil
		})
		w.waitMadeAgain(t, "low", 4-victims, victims)
		if evicted := w.Pods.Preempted(); len(evicted) != victims {
			t.Errorf("%d pods were evicted for %d: %v", len(evicted), victims, w.evicted())
		}
	}
	w.api.SetDelay(0)
	for _, pod := range ofDeployment("low", w.Pods.All()) {
		if binding, bound := w.Pods.BindingOf(pod.UID); bound && !first[pod.UID] {
			t.Errorf("%s, made for a victim, came to %s", pod.Name, binding.Node)
		}
	}
	for _, pod := range w.Pods.Preempted() {
		if !first[pod.UID] {
			t.Errorf("%s, made for a victim, was evicted in its turn", pod.Name)
		}
	}
	w.offcut.RequireLedgerEqualsRebuild()
}

func withPriorities(class string, pods []*corev1.Pod) []*corev1.Pod {
	for _, pod := range pods {
		withPriority(pod, class)
	}
	return pods
}

// Waits until so many pods of the Deployment run, and as many wait as are to be made again.
func (w *world) waitMadeAgain(t *testing.T, deployment string, run, wait int) {
	t.Helper()
	what := fmt.Sprintf("%d of %s run, %d wait", run, deployment, wait)
	w.Pods.Wait(t, soon, what, func(pods []*corev1.Pod) bool {
		pods = ofDeployment(deployment, pods)
		return running(pods) == run && refused(pods) == wait && len(pods) == run+wait
	})
}

func unschedulableAttempts(scheduler *cluster.Scheduler) float64 {
	return scheduler.Metric("scheduler_schedule_attempts_total", `result="unschedulable"`)
}

// Two budgets keep one pod each. `guarded` has one pod, so it may lose none; `open` has two, and
// may lose one. So a pod of `open` goes, though that of `guarded` has the lower priority. Whoever
// has to know the budgets starts after the disruption controller has said what they allow.
func TestCase13BudgetsAreHonouredAsTheDisruptionControllerComputesThem(t *testing.T) {
	t.Parallel()
	w := newPreemptionWorld(t)
	w.StartControllerManager()
	w.CreateNode("guarded", cluster.WholeA100x40(1))
	w.CreateNode("open", cluster.WholeA100x40(2))
	w.schedule(cluster.SchedulerOptions{Name: "first"})
	for _, each := range []struct {
		name, priority string
		replicas       int32
	}{{"guarded", "low", 1}, {"open", "middle", 2}} {
		pod := withPriority(cluster.Pod(each.name, gpu, 1), each.priority)
		w.CreateDeployment(onNode(by("first", pod), each.name), each.replicas)
		w.Pods.Wait(t, soon, each.name+" runs", deploymentRuns(each.name, int(each.replicas)))
		w.CreateBudget(each.name, 1, each.replicas-1)
	}
	w.offcut.Stop()
	w.offcut.Start()
	w.schedule(cluster.SchedulerOptions{Name: "second"})

	high := by("second", withPriority(cluster.Pod("high", gpu, 1), "high"))
	w.runPods(t, high)
	requireNode(t, w, high, "open")
	evicted := w.Pods.Preempted()
	if len(evicted) != 1 || len(ofDeployment("open", evicted)) != 1 {
		t.Errorf("evicted %v, want one pod of open", w.evicted())
	}
	asked := waitCall(t, w.extender, "preempt", high).Question(t).Victims()
	if asked["guarded"].NumPDBViolations != 1 || asked["open"].NumPDBViolations != 0 {
		t.Errorf("the scheduler took the budgets for something else: %v", asked)
	}
}

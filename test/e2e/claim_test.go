package e2e

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"offcut.dev/e2e/cluster"
)

// By this time a claim would not yet have ended by itself, which takes 60 s.
const beforeClaimsEnd = 45 * time.Second

// The GPU is Offcut's to give; another extender keeps the first pod from it.
func requireOtherPodRuns(t *testing.T, answers cluster.Answers, reason string) {
	t.Parallel()
	w := newWorld(t, cluster.KubeletOptions{})
	w.CreateNode("gpu", cluster.WholeA100x40(1))
	w.SetAllocatable("gpu", license, 1)
	second := cluster.NewScriptedExtender(t, cluster.ScriptedOptions{
		Verbs: filterOnly, Resources: []string{license},
	})
	second.Answer(answers)
	w.schedule(cluster.SchedulerOptions{After: []*cluster.ScriptedExtender{second}})
	stuck := cluster.Pod("stuck", gpu, 1)
	stuck.Spec.Containers[0].Resources.Limits[license] = resource.MustParse("1")
	w.messageFor(t, reason, stuck)
	w.CreatePods(cluster.Pod("other", gpu, 1))
	w.Pods.Wait(t, beforeClaimsEnd, "the other pod runs", cluster.Running("other"))
}

// kube-scheduler tells of the failed attempt in the pod's condition.
func TestClaimOfAPodThatAnotherExtenderRefusesStarvesNobody(t *testing.T) {
	requireOtherPodRuns(t, cluster.Answers{Failed: because("no", "gpu")}, "Unschedulable")
}

// Each try of the stuck pod (at most 10 s apart) renews its claim.
func TestClaimOfAPodThatAnotherExtenderFailsStarvesNobody(t *testing.T) {
	requireOtherPodRuns(t, cluster.Answers{Error: "broken"}, "SchedulerError")
}

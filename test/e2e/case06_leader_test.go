package e2e

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"offcut.dev/e2e/cluster"
)

// By this label the Service selects the pod that answers.
const leaderLabel = "offcut.dev/leader"

var (
	elect        = []string{"--leader-elect=service"}
	electSidecar = []string{"--leader-elect=lease"}
)

// Two replicas behind a Service, of which the leader answers. It is killed amid a run of pods.
func TestAnotherReplicaAnswersSoonAfterTheLeaderIsKilled(t *testing.T) {
	c := cluster.New(t, cluster.KubeletOptions{})
	c.CreateNode("cpu", cluster.CPUOnly())
	c.CreateNodes("whole", 10, cluster.WholeA100x40(8))
	service := cluster.NewExtenderProxy(t)
	replicas := map[string]*cluster.Offcut{}
	for i := range 2 {
		name := fmt.Sprintf("offcut-%d", i)
		createOffcutPod(c, name)
		replicas[name] = c.StartOffcut(cluster.OffcutOptions{Name: name, Pod: name, Arguments: elect})
	}
	leader := waitLeader(t, c, "")
	service.SetTarget(replicas[leader].Extender)
	c.StartScheduler(cluster.SchedulerOptions{Extender: service})

	pods := cluster.Pods("gpu", 80, "nvidia.com/gpu", 1)
	c.CreatePods(pods[:40]...)
	c.Pods.Wait(t, soon, "a GPU pod runs", func(now []*corev1.Pod) bool {
		return running(now) > len(replicas) // the replicas' own pods run too
	})
	replicas[leader].Kill()
	c.CreatePods(pods[40:]...)
	successor := waitLeader(t, c, leader) // 15 s later at least, when the Lease has expired
	service.SetTarget(replicas[successor].Extender)
	c.Pods.Wait(t, long, "all pods run", cluster.Running(cluster.NamesOf(pods)...))
	replicas[successor].RequireLedgerEqualsRebuild()
	c.Pods.Wait(t, soon, "the dead leader has no label", func(pods []*corev1.Pod) bool {
		return !slices.ContainsFunc(pods, func(pod *corev1.Pod) bool {
			return pod.Labels[leaderLabel] != "" && pod.Name != successor
		})
	})
}

// Two pods of a scheduler and an Offcut each. The scheduler's leader moves; the Lease of Offcut,
// which guards its background work alone, stays where it is.
func TestSidecarAnswersItsSchedulerWithoutHoldingTheLease(t *testing.T) {
	t.Parallel()
	c := cluster.New(t, cluster.KubeletOptions{})
	c.CreateNodes("whole", 10, cluster.WholeA100x40(8))
	var extenders []*cluster.ExtenderProxy
	var schedulers []*cluster.Scheduler
	for i := range 2 {
		name := fmt.Sprintf("offcut-%d", i)
		extenders = append(extenders, cluster.NewExtenderProxy(t))
		c.StartOffcut(cluster.OffcutOptions{
			Name: name, Pod: name, Extender: extenders[i], Arguments: electSidecar,
		})
		if i == 0 { // the first one leads in both elections
			cluster.Eventually(t, soon, "Offcut holds its Lease", func() error {
				if leaseHolder(t, c) == "" {
					return errNotYet
				}
				return nil
			})
		}
		schedulers = append(schedulers, c.StartScheduler(cluster.SchedulerOptions{
			Log: name, Extender: extenders[i], Elect: true,
		}))
		if i == 0 {
			c.CreatePods(cluster.Pods("before", 20, "nvidia.com/gpu", 1)...)
			c.Pods.Wait(t, soon, "pods run", cluster.Running(cluster.Names("before", 20)...))
		}
	}
	holder := leaseHolder(t, c)
	schedulers[0].Kill()
	c.CreatePods(cluster.Pods("after", 60, "nvidia.com/gpu", 1)...)
	c.Pods.Wait(t, long, "later pods run", cluster.Running(cluster.Names("after", 60)...))
	if now := leaseHolder(t, c); now != holder {
		t.Errorf("the Lease moved from %s to %s although no Offcut ended", holder, now)
	}
	if len(extenders[1].Calls("bind")) < 60 {
		t.Error("the second scheduler did not ask its own Offcut")
	}
}

// A pod object in which a replica runs, as a Deployment would have made it.
func createOffcutPod(c *cluster.Cluster, name string) {
	pod := cluster.Pod(name, "", 0)
	pod.Namespace = cluster.Namespace
	pod.Labels = map[string]string{cluster.BoundByOthers: "true"}
	pod.Spec.SchedulerName = "nobody"
	// The namespace demands it: pod-security.kubernetes.io/enforce is restricted.
	pod.Spec.SecurityContext = &corev1.PodSecurityContext{
		RunAsNonRoot:   ptr.To(true),
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	pod.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{
		AllowPrivilegeEscalation: ptr.To(false),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
	c.CreatePods(pod)
	c.BindByHand(pod, "cpu")
}

// Returns the pod that carries the leader's label, one other than `previous`.
func waitLeader(t *testing.T, c *cluster.Cluster, previous string) string {
	t.Helper()
	leader := ""
	c.Pods.Wait(t, soon, "a leader labels its pod", func(pods []*corev1.Pod) bool {
		for _, pod := range pods {
			if pod.Labels[leaderLabel] == "true" && pod.Name != previous {
				leader = pod.Name
			}
		}
		return leader != ""
	})
	return leader
}

func leaseHolder(t *testing.T, c *cluster.Cluster) string {
	lease, err := c.Client.CoordinationV1().Leases(cluster.Namespace).Get(t.Context(), "offcut",
		metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

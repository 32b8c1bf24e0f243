//go:build bench

package e2e

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"offcut.dev/e2e/cluster"
)

var (
	rounds     = flag.Int("rounds", 3, "how often each is measured")
	podsMax    = flag.Int("pods", 500, "pods of a measurement, at most one for each GPU")
	nodeCounts = flag.String("nodes", "100,1000", "nodes of each cluster")
	deletions  = flag.Int("deletions", 20, "how many GPUs are freed for a waiting pod")
	reportFile = flag.String("report", "", "file for the table and the JSON; must be given")
)

const (
	gpusPerNode = 8
	warmUpPods  = 16
	// For one measurement; whole Node objects of 1,000 nodes take the longest.
	rateTimeout = 10 * time.Minute
	// Above all that it can do, so that its own limit is not what is measured.
	unlimitedQPS = 100_000
	// A refused pod waits for a second at least, whatever is freed (podInitialBackoffSeconds). That
	// is kube-scheduler's, and not what is measured.
	backOff = 1200 * time.Millisecond
)

// What is compared. An extender makes the difference, and the bodies that it gets.
type setup struct {
	extender   string // none, passing, offcut
	wholeNodes bool   // instead of names
}

func (s setup) String() string {
	if s.wholeNodes {
		return s.extender + " (whole nodes)"
	}
	return s.extender
}

// measurement is one setup in one round.
type measurement struct {
	setup
	podsPerSecond float64
	conflicts     int // that Offcut found itself
	began, ended  time.Time
	freedToBound  []time.Duration
}

// One-GPU pods per second through the real kube-scheduler, and the time from a freed GPU to the
// pod that waits for it: without an extender, with one that does nothing, and with Offcut, by turns
// on one control plane. Started by bench/scheduling-rate.
func TestSchedulingRate(t *testing.T) {
	if *reportFile == "" || *rounds < 1 || *podsMax < 1 {
		t.Fatal("start this with bench/scheduling-rate; rounds and pods are at least 1")
	}
	report := newReport(os.Getenv("OFFCUT_E2E_KUBERNETES"))
	for text := range strings.SplitSeq(*nodeCounts, ",") {
		nodes, err := strconv.Atoi(text)
		if err != nil || nodes < 1 {
			t.Fatalf("-nodes %q: numbers with commas between them", *nodeCounts)
		}
		t.Run(text, func(t *testing.T) { measureCluster(t, report, nodes) })
		if t.Failed() {
			return
		}
		report.write(t, *reportFile) // now: what follows may fail
	}
}

func measureCluster(t *testing.T, report *report, nodes int) {
	c := cluster.New(t, cluster.KubeletOptions{})
	pods := min(gpusPerNode*nodes, *podsMax)
	progress("%d nodes are being made", nodes)
	names := c.CreateNodes("gpu", nodes, cluster.WholeA100x40(gpusPerNode))
	var all []measurement
	for round := range *rounds {
		for _, setup := range setupsOf(round) {
			node := ""
			if round == *rounds-1 && !setup.wholeNodes {
				node = names[0]
			}
			done := measure(t, c, setup, pods, node)
			progress("%d nodes, round %d of %d, %v: %d pods, %.1f a second", nodes, round+1,
				*rounds, setup, pods, done.podsPerSecond)
			all = append(all, done)
		}
	}
	report.add(nodes, pods, all, failedBindings(c))
}

// Each setup has each place in a round: what is first meets another machine than what is last.
// Whole nodes are for information, and measured once.
func setupsOf(round int) []setup {
	setups := []setup{{"none", false}, {"passing", false}, {"offcut", false}}
	turn := round % len(setups)
	setups = append(setups[turn:], setups[:turn]...)
	if round == 0 {
		setups = append(setups, setup{"passing", true}, setup{"offcut", true})
	}
	return setups
}

// Measures on an empty cluster, and leaves it empty. On `node`, unless "", GPUs are freed for
// waiting pods after that.
func measure(t *testing.T, c *cluster.Cluster, setup setup, pods int, node string) measurement {
	t.Helper()
	done := measurement{setup: setup, began: time.Now()}
	options := cluster.SchedulerOptions{
		Log: setup.extender, WholeNodes: setup.wholeNodes, ClientQPS: unlimitedQPS,
		Flags: batchingOff(t, c.Version),
	}
	var offcut *cluster.Offcut
	stop := func() {}
	switch setup.extender {
	case "passing":
		var passing *cluster.Process
		options.Address, passing = startPassingExtender(t, c)
		stop = func() { passing.Stop(t) }
	case "offcut":
		offcut = c.StartOffcut(cluster.OffcutOptions{})
		options.Address, stop = offcut.Extender, offcut.Stop
	}
	scheduler := c.StartScheduler(options)
	// Connections, caches and the first allocations are everybody's.
	warmUp := setup.pods("warm-up", min(warmUpPods, pods))
	c.CreatePods(warmUp...)
	waitBound(t, c, warmUp)
	deleteAllPods(t, c)

	done.podsPerSecond = rate(t, c, scheduler, setup.pods("pod", pods))
	deleteAllPods(t, c)
	if node != "" {
		progress("%v: %d GPUs are freed, one after another", setup, *deletions)
		done.freedToBound = freedToBound(t, c, setup, node)
		deleteAllPods(t, c)
	}
	if offcut != nil {
		done.conflicts = int(offcut.Metric("offcut_bind_conflicts_total", ""))
	}
	scheduler.Stop(t)
	stop()
	done.ended = time.Now()
	return done
}

// Any extender turns the batching of alike pods off; who has none must do without it too. Before
// 1.35 it is not there.
func batchingOff(t *testing.T, version string) []string {
	t.Helper()
	var minor int
	if _, err := fmt.Sscanf(version, "v1.%d.", &minor); err != nil {
		t.Fatalf("version %q: %v", version, err)
	}
	if minor < 35 {
		return nil
	}
	return []string{"--feature-gates=OpportunisticBatching=false"}
}

// One-GPU pods PREFIX-00 and so on. Those that Offcut does not bind carry no record of devices,
// and say so to the device check.
func (s setup) pods(prefix string, count int) []*corev1.Pod {
	pods := cluster.Pods(prefix, count, "nvidia.com/gpu", 1)
	for _, pod := range pods {
		if s.extender != "offcut" {
			pod.Labels = map[string]string{cluster.BoundByOthers: "true"}
		}
	}
	return pods
}

// Pods a second, from when the scheduler may begin until the last pod is seen with its node. It is
// halted while they are created, and so finds all of them waiting. To lift a scheduling gate of each
// instead costs the API server as much as to bind it: the lifting is then what is measured.
func rate(t *testing.T, c *cluster.Cluster, scheduler *cluster.Scheduler,
	pods []*corev1.Pod) float64 {
	t.Helper()
	scheduler.Pause()
	c.CreatePods(pods...)
	started := time.Now()
	scheduler.Resume()
	last := waitBound(t, c, pods)
	return float64(len(pods)) / last.Sub(started).Seconds()
}

// Returns when the last of them was seen with its node. Looks now and then, since to look at all
// pods after each event would cost what is measured.
func waitBound(t *testing.T, c *cluster.Cluster, pods []*corev1.Pod) (last time.Time) {
	t.Helper()
	next := 0
	cluster.Eventually(t, rateTimeout, "all pods are bound", func() error {
		for ; next < len(pods); next++ {
			binding, bound := c.Pods.BindingOf(pods[next].UID)
			if !bound {
				return fmt.Errorf("%s is not", pods[next].Name)
			}
			if binding.Seen.After(last) {
				last = binding.Seen
			}
		}
		return nil
	})
	return last
}

// How long it takes from the deletion of a pod until the one that waits for its GPU has it. All
// happens on one node, so that the next GPU can be freed at once.
func freedToBound(t *testing.T, c *cluster.Cluster, setup setup, node string) []time.Duration {
	t.Helper()
	holders := setup.pods("holder", gpusPerNode)
	for _, holder := range holders {
		onNode(holder, node)
	}
	c.CreatePods(holders...)
	waitBound(t, c, holders)
	var took []time.Duration
	for _, waiting := range setup.pods("waiting", *deletions) {
		c.CreatePods(onNode(waiting, node))
		c.Pods.Wait(t, soon, "pod waits", cluster.Unscheduled("Unschedulable", waiting.Name))
		time.Sleep(backOff)
		freed := time.Now()
		deleteAtOnce(t, c, holders[0])
		took = append(took, waitBound(t, c, []*corev1.Pod{waiting}).Sub(freed))
		holders = append(holders[1:], waiting)
	}
	return took
}

// Without the time that a kubelet takes to end a container.
func deleteAtOnce(t *testing.T, c *cluster.Cluster, pod *corev1.Pod) {
	t.Helper()
	err := c.Client.CoreV1().Pods(pod.Namespace).Delete(t.Context(), pod.Name,
		metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
	if err != nil {
		t.Fatal(err)
	}
}

func deleteAllPods(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	err := c.Client.CoreV1().Pods(metav1.NamespaceDefault).DeleteCollection(t.Context(),
		metav1.DeleteOptions{GracePeriodSeconds: new(int64)}, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, long, "all pods are gone", func() error {
		if left := len(c.Pods.All()); left > 0 {
			return fmt.Errorf("%d are left", left)
		}
		return nil
	})
}

// The bindings that the API server refused, whoever asked.
func failedBindings(c *cluster.Cluster) []cluster.AuditEvent {
	return c.Audit(func(event cluster.AuditEvent) bool {
		return event.Verb == "create" && event.Object.Resource == "pods" &&
			event.Object.Subresource == "binding" && event.Response.Code >= 300
	})
}

func progress(format string, values ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format("15:04:05 ")+format+"\n", values...)
}

package e2e

import (
	"strings"
	"testing"
	"time"

	"offcut.dev/e2e/cluster"
)

// That Offcut does not end meanwhile, the harness watches.
func TestOffcutOutlivesTwentySecondsWithoutAPIServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cluster.KubeletOptions{})
	w.CreateNodes("whole", 2, cluster.WholeA100x40(8))
	w.schedule(cluster.SchedulerOptions{})
	w.runPods(t, cluster.Pods("before", 8, "nvidia.com/gpu", 1)...)
	w.StopAPIServer()
	time.Sleep(20 * time.Second) // how long it is gone
	w.RestartAPIServer()
	w.CreatePods(cluster.Pods("after", 8, "nvidia.com/gpu", 1)...)
	w.Pods.Wait(t, long, "later pods run", cluster.Running(cluster.Names("after", 8)...))
	w.offcut.RequireLedgerEqualsRebuild()
}

// While Offcut is cut off, pods go, others come without it, and the history of it all is deleted.
// The API server starts again, so that its own memory of recent events is empty too: the resource
// version from which Offcut would go on is gone (410).
func TestCompactionMakesOffcutListAgainAndFindWhatItMissed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cluster.KubeletOptions{})
	nodes := w.CreateNodes("whole", 2, cluster.WholeA100x40(8))
	w.schedule(cluster.SchedulerOptions{})
	w.runPods(t, cluster.Pods("before", 12, "nvidia.com/gpu", 1)...)

	w.api.Refuse()
	missed := cluster.Names("before", 6)
	w.DeletePods(missed...)
	w.Pods.Wait(t, soon, "pods are gone", cluster.Gone(missed...))
	stranger := onNode(cluster.Pod("stranger", "nvidia.com/gpu", 1), nodes[0])
	stranger.Labels = map[string]string{cluster.BoundByOthers: "true"}
	stranger.Spec.SchedulerName = "nobody"
	w.CreatePods(stranger)
	w.BindByHand(stranger, nodes[0])
	w.CreateNode("late", cluster.WholeA100x40(8))
	w.CompactEtcd()
	w.StopAPIServer()
	w.RestartAPIServer()
	w.CompactEtcd() // what the start itself wrote
	restored := time.Now()
	w.api.Restore()

	cluster.Eventually(t, soon, "Offcut lists pods again", func() error {
		lists := w.Audit(func(event cluster.AuditEvent) bool {
			return event.User.Username == cluster.OffcutUser && event.Received.After(restored) &&
				event.Object.Resource == "pods" && event.Response.Code == 200 &&
				(event.Verb == "list" || strings.Contains(event.RequestURI, "sendInitialEvents=true"))
		})
		if len(lists) == 0 {
			return errNotYet
		}
		return nil
	})
	w.offcut.RequireLedgerEqualsRebuild()
	if ghosts := w.offcut.Metric("offcut_ledger_ghosts_total", ""); ghosts < 6 {
		t.Errorf("six pods went unseen, %v ghosts were counted", ghosts)
	}
	// 24 GPUs, 6 old pods and the stranger: 17 more, and not one.
	w.CreatePods(cluster.Pods("after", 18, "nvidia.com/gpu", 1)...)
	w.Pods.Wait(t, long, "all GPUs are taken", boundIs(24))
}

// A peer that lost its power sends no FIN: only a missing sign of life tells. Bookmarks come about
// once a minute.
func TestConnectionThatGoesSilentIsReplaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cluster.KubeletOptions{})
	w.CreateNode("old", cluster.WholeA100x40(8))
	w.schedule(cluster.SchedulerOptions{})
	w.runPods(t, cluster.Pods("before", 4, "nvidia.com/gpu", 1)...)
	w.api.Silence()
	w.CreateNode("new", cluster.WholeA100x40(8))
	w.CreatePods(onNode(cluster.Pod("after", "nvidia.com/gpu", 1), "new"))
	w.Pods.Wait(t, long, "pod runs on a node made in the silence", cluster.Running("after"))
	w.offcut.RequireLedgerEqualsRebuild()
}

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"offcut.dev/e2e/cluster"
)

// A Role is read into the API server's memory a moment after it is made or the server has started.
const rightsSettle = 5 * time.Second

// Provokes each kind of request that Offcut makes, and compares what the API server saw with what
// Offcut's account may do.
func TestOffcutMayDoWhatItDoesAndNoMore(t *testing.T) {
	t.Parallel()
	w := newLeadingWorld(t)
	w.CreateNode("full", cluster.WholeA100x40(8))
	w.schedule(cluster.SchedulerOptions{})
	w.runPods(t, cluster.Pods("holder", 8, "nvidia.com/gpu", 1)...)
	refuseTwice(t, w)
	nudge(t, w)
	bindPodThatIsGone(t, w)
	started := time.Now()
	relistInPages(t, w)
	settled := time.Now().Add(rightsSettle)

	requests := w.Audit(byOffcut)
	for _, fault := range cluster.RightsFaults(w.RightsOf("offcut"), requests) {
		t.Error(fault)
	}
	for _, request := range requests {
		isStarting := request.Received.After(started) && request.Received.Before(settled)
		if request.Response.Code == http.StatusForbidden && !isStarting {
			t.Errorf("forbidden: %s %s", request.Verb, request.RequestURI)
		}
	}
	t.Logf("%d requests of Offcut", len(requests))
}

func byOffcut(event cluster.AuditEvent) bool { return event.User.Username == cluster.OffcutUser }

// A world whose Offcut stands for election, and labels its own pod when it leads.
func newLeadingWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		Cluster: cluster.New(t, cluster.KubeletOptions{}), extender: cluster.NewExtenderProxy(t),
	}
	w.CreateNode("cpu", cluster.CPUOnly())
	createOffcutPod(w.Cluster, "offcut-0")
	w.api = cluster.NewTCPProxy(t, w.APIAddress())
	w.offcut = w.StartOffcut(cluster.OffcutOptions{
		Server: w.api.Address(), Extender: w.extender, Arguments: elect, Pod: "offcut-0",
	})
	waitLeader(t, w.Cluster, "")
	return w
}

// The second event of one reason is a patch of the first.
func refuseTwice(t *testing.T, w *world) {
	t.Helper()
	pod := annotated(cluster.Pod("picky", "nvidia.com/gpu", 1), "offcut.dev/gpu-models", "H100*")
	w.CreateNode("empty", cluster.WholeA100x40(1))
	w.CreatePods(pod)
	w.Pods.Wait(t, soon, "pod is refused", cluster.Unscheduled("Unschedulable", "picky"))
	w.waitRequest(t, "create", "events", pod.Namespace)
	wake(t, w, pod.Name)
	w.waitRequest(t, "patch", "events", pod.Namespace)
	w.DeletePods("picky")
	w.DeleteNode("empty")
}

// A changed toleration may make a pod schedulable, so the scheduler tries it again.
func wake(t *testing.T, w *world, name string) {
	t.Helper()
	_, err := w.Client.CoreV1().Pods(metav1.NamespaceDefault).Patch(t.Context(), name,
		types.StrategicMergePatchType,
		[]byte(`{"spec": {"tolerations": [{"key": "e2e", "operator": "Exists"}]}}`),
		metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// The scheduler asks before Offcut has seen the deletion, gets a no, and has to be woken.
func nudge(t *testing.T, w *world) {
	t.Helper()
	w.api.SetDelay(time.Second)
	w.CreatePods(cluster.Pod("waiting", "nvidia.com/gpu", 1))
	w.Pods.Wait(t, soon, "pod waits", cluster.Unscheduled("Unschedulable", "waiting"))
	w.DeletePods("holder-00")
	w.waitRequest(t, "patch", "pods", metav1.NamespaceDefault)
	w.Pods.Wait(t, soon, "freed GPU is taken", cluster.Running("waiting"))
	w.api.SetDelay(0)
}

// Of a pod that it has not seen, Offcut asks the API server.
func bindPodThatIsGone(t *testing.T, w *world) {
	t.Helper()
	body, err := json.Marshal(map[string]string{
		"PodName": "gone", "PodNamespace": metav1.NamespaceDefault, "PodUID": "gone", "Node": "full",
	})
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.Post("http://"+w.offcut.Extender+"/v1/bind", "application/json",
		bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	w.waitRequest(t, "get", "pods", metav1.NamespaceDefault)
}

// An API server that streams no lists, as by default before 1.34, is asked for pages.
func relistInPages(t *testing.T, w *world) {
	t.Helper()
	w.StopAPIServer()
	w.RestartAPIServer("--feature-gates=WatchList=false")
	w.offcut.Kill()
	w.offcut.Start()
	for _, resource := range []string{"nodes", "pods"} {
		w.waitRequest(t, "list", resource, "")
	}
	w.offcut.RequireLedgerEqualsRebuild()
}

// Waits until Offcut has made such a request.
func (w *world) waitRequest(t *testing.T, verb, resource, namespace string) {
	t.Helper()
	what := fmt.Sprintf("Offcut asks to %s %s", verb, resource)
	cluster.Eventually(t, soon, what, func() error {
		seen := w.Audit(func(event cluster.AuditEvent) bool {
			return byOffcut(event) && event.Verb == verb && event.Object.Resource == resource &&
				event.Object.Subresource == "" && event.Object.Namespace == namespace &&
				!strings.Contains(event.RequestURI, "watch=")
		})
		if len(seen) == 0 {
			return errNotYet
		}
		return nil
	})
}

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"offcut.dev/e2e/cluster"
)

// tenant is one of a policy, and its only namespace is called like it.
type tenant struct {
	name, parent       string
	guarantee, borrows int // GPUs
}

// A policy file of these tenants; what `change` writes later is read while the server runs.
type policyFile struct {
	t    *testing.T
	path string
}

func newPolicyFile(t *testing.T, tenants ...tenant) *policyFile {
	t.Helper()
	file := &policyFile{t, filepath.Join(t.TempDir(), "policy.yaml")}
	file.change(tenants...)
	return file
}

func (f *policyFile) change(tenants ...tenant) {
	f.t.Helper()
	text := strings.Builder{}
	text.WriteString("apiVersion: offcut.dev/v1alpha1\nkind: Policy\n" +
		"pools: [{name: a100, models: [\"A100*\"]}]\ntenants:\n")
	for _, each := range tenants {
		if each.parent != "" {
			text.WriteString(fmt.Sprintf("  - {name: %s, parent: %s, namespaces: [%s]", each.name,
				each.parent, each.name))
		} else {
			text.WriteString(fmt.Sprintf("  - {name: %s, namespaces: [%s]", each.name, each.name))
		}
		if each.guarantee > 0 {
			text.WriteString(fmt.Sprintf(", quotas: [{pool: a100, guarantee: {devices: %d}, "+
				"borrowingLimit: {devices: %d}}]", each.guarantee, each.borrows))
		}
		text.WriteString("}\n")
	}
	// At once, as a ConfigMap's volume does.
	if err := os.WriteFile(f.path+".new", []byte(text.String()), 0o600); err != nil {
		f.t.Fatal(err)
	}
	if err := os.Rename(f.path+".new", f.path); err != nil {
		f.t.Fatal(err)
	}
}

func newTenantWorld(t *testing.T, policy *policyFile) *world {
	t.Helper()
	w := newWorld(t, cluster.KubeletOptions{}, "--policy="+policy.path)
	w.CreateNamespaces("red", "blue", "green")
	w.schedule(cluster.SchedulerOptions{})
	return w
}

// So many pods of one GPU in that namespace, behind the gate or not.
func tenantPods(namespace, prefix string, count int, gated bool) []*corev1.Pod {
	pods := in(namespace, cluster.Pods(namespace+"-"+prefix, count, "nvidia.com/gpu", 1)...)
	if gated {
		for _, pod := range pods {
			pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: quotaGate}}
		}
	}
	return pods
}

// limits checks at each event of the API server that no tenant binds a pod beyond its limit.
type limits struct {
	mutex   sync.Mutex
	most    map[string]int // by namespace
	both    int            // red and blue together
	holders map[types.UID]string
}

func watchLimits(w *world, most map[string]int, both int) *limits {
	l := &limits{most: most, both: both, holders: map[types.UID]string{}}
	w.Pods.CheckEach(l.check)
	return l
}

func (l *limits) check(pod *corev1.Pod, deleted bool) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if deleted {
		delete(l.holders, pod.UID)
		return nil
	}
	if _, known := l.holders[pod.UID]; known || pod.Spec.NodeName == "" {
		return nil
	}
	l.holders[pod.UID] = pod.Namespace
	used := map[string]int{}
	for _, namespace := range l.holders {
		used[namespace]++
	}
	if used[pod.Namespace] > l.most[pod.Namespace] {
		return fmt.Errorf("%s holds %d GPUs, and its limit is %d", pod.Namespace,
			used[pod.Namespace], l.most[pod.Namespace])
	}
	if used["red"]+used["blue"] > l.both {
		return fmt.Errorf("red and blue hold %v GPUs, and have %d", used, l.both)
	}
	return nil
}

func (l *limits) set(namespace string, most, both int) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.most[namespace], l.both = most, both
}

func boundIn(namespace string, pods []*corev1.Pod) int {
	return bound(slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool {
		return pod.Namespace != namespace
	}))
}

func (w *world) waitBound(t *testing.T, what string, want map[string]int) {
	t.Helper()
	holds := func(pods []*corev1.Pod) bool {
		for namespace, count := range want {
			if boundIn(namespace, pods) != count {
				return false
			}
		}
		return true
	}
	if !w.Pods.Within(long, holds) {
		pods := w.Pods.All()
		t.Fatalf("not within %v: %s: want %v, have red %d, blue %d, green %d", long, what, want,
			boundIn("red", pods), boundIn("blue", pods), boundIn("green", pods))
	}
}

// Names of so many pods in the namespace that have a node.
func (w *world) someBound(namespace string, count int) []string {
	var names []string
	for _, pod := range w.Pods.All() {
		if pod.Namespace == namespace && pod.Spec.NodeName != "" && len(names) < count {
			names = append(names, pod.Name)
		}
	}
	return names
}

// Siblings red and blue are guaranteed 100 GPUs each, and red may borrow 30; green, beside them, has
// 60 and nobody to borrow of.
func threeTenants() []tenant {
	return []tenant{
		{name: "org"},
		{name: "red", parent: "org", guarantee: 100, borrows: 30},
		{name: "blue", parent: "org", guarantee: 100},
		{name: "green", guarantee: 60},
	}
}

// 400 pods want 400 GPUs, which are there: what holds them back is quota alone.
func startThreeTenants(t *testing.T, policy *policyFile, gated bool) (*world, *limits) {
	t.Helper()
	w := newTenantWorld(t, policy)
	w.CreateNodes("node", 50, cluster.WholeA100x80(8))
	limits := watchLimits(w, map[string]int{"red": 130, "blue": 100, "green": 60}, 200)
	w.CreatePods(slices.Concat(tenantPods("red", "a", 200, gated),
		tenantPods("blue", "a", 50, gated), tenantPods("green", "a", 100, gated))...)
	w.waitBound(t, "guarantees are reached, and red borrows",
		map[string]int{"red": 130, "blue": 50, "green": 60})
	w.CreatePods(tenantPods("blue", "b", 50, gated)...)
	w.waitBound(t, "blue gets what red has not borrowed",
		map[string]int{"red": 130, "blue": 70, "green": 60})
	return w, limits
}

func TestTenantsGetTheirSharesWithoutGates(t *testing.T) {
	t.Parallel()
	w, _ := startThreeTenants(t, newPolicyFile(t, threeTenants()...), false)
	w.offcut.RequireLedgerEqualsRebuild()
}

func TestTenantsGetTheirSharesBehindGates(t *testing.T) {
	t.Parallel()
	policy := newPolicyFile(t, threeTenants()...)
	w, limits := startThreeTenants(t, policy, true)
	// Red has 70 more that wait, but blue is within its guarantee.
	w.DeletePodsIn("red", w.someBound("red", 30)...)
	w.waitBound(t, "what red gives back goes to blue",
		map[string]int{"red": 100, "blue": 100, "green": 60})
	if lifted := w.offcut.Metric("offcut_gates_lifted_total", ""); lifted != 290 {
		t.Errorf("%g gates were lifted for 290 pods", lifted)
	}
	changeLimits(t, w, policy, limits)
	requireNothingForbidden(t, w)
}

// Blue grows by 5 and green shrinks to 50, which takes nothing from it; then green grows to 70.
func changeLimits(t *testing.T, w *world, policy *policyFile, limits *limits) {
	t.Helper()
	pid := w.offcut.Pid()
	w.CreatePods(tenantPods("blue", "c", 5, true)...)
	changed := threeTenants()
	changed[2].guarantee, changed[3].guarantee = 105, 50
	limits.set("blue", 105, 205)
	policy.change(changed...)
	w.waitBound(t, "blue has grown", map[string]int{"red": 100, "blue": 105, "green": 60})
	limits.set("green", 50, 205)
	w.DeletePodsIn("green", w.someBound("green", 5)...)
	w.waitBound(t, "green gives back, and gets no other", map[string]int{"green": 55})
	if w.Pods.Within(time.Second, func(pods []*corev1.Pod) bool {
		return boundIn("green", pods) > 55
	}) {
		t.Error("green got a pod beyond its limit")
	}
	changed[3].guarantee = 70
	limits.set("green", 70, 205)
	policy.change(changed...)
	w.waitBound(t, "green has grown", map[string]int{"red": 100, "blue": 105, "green": 70})
	if w.offcut.Pid() != pid {
		t.Error("Offcut was started anew")
	}
}

// Red may use 8 GPUs and wants thousands. The scheduler never tries those behind the gate, so
// nobody waits for such an attempt: each pod that Offcut was asked about has come to a node. Not
// beside other tests, for the sake of the times in the log.
func TestPodsBeyondQuotaBehindGatesDelayNobody(t *testing.T) {
	w := placeBesideBacklog(t, 5000, true)
	for _, call := range w.extender.Calls("filter") {
		if _, isBound := w.Pods.BindingOf(call.PodUID); !isBound {
			t.Errorf("%s was tried, and has no node", call.Pod)
		}
	}
}

// For comparison, with fewer pods, and without any claim.
func TestPodsBeyondQuotaWithoutGatesShowTheirCost(t *testing.T) {
	placeBesideBacklog(t, 500, false)
}

// Logs the times from the creation of feasible pods to their binding, ascending. Before each one a
// pod of red ends, which is what wakes those that wait.
func placeBesideBacklog(t *testing.T, backlog int, gated bool) *world {
	t.Helper()
	w := newTenantWorld(t, newPolicyFile(t,
		tenant{name: "red", guarantee: 8}, tenant{name: "blue", guarantee: 8}))
	w.CreateNodes("node", 4, cluster.WholeA100x80(8))
	watchLimits(w, map[string]int{"red": 8, "blue": 8}, 16)
	started := time.Now()
	w.CreatePods(tenantPods("red", "a", backlog, gated)...)
	t.Logf("%d pods created in %v", backlog, time.Since(started).Round(time.Millisecond))
	w.waitBound(t, "red has its quota", map[string]int{"red": 8})
	var times []time.Duration
	for i, pod := range tenantPods("blue", "a", 5, gated) {
		ends := w.someBound("red", 1)
		w.DeletePodsIn("red", ends...)
		created := time.Now()
		w.CreatePods(pod)
		w.waitBound(t, "a pod of blue is bound", map[string]int{"blue": i + 1})
		binding, _ := w.Pods.BindingOf(pod.UID)
		times = append(times, binding.Seen.Sub(created).Round(time.Millisecond))
		w.Pods.Wait(t, soon, "red's pod is gone", cluster.Gone(ends...))
		w.waitBound(t, "red's next pod is bound", map[string]int{"red": 8})
	}
	slices.Sort(times)
	t.Logf("beside %d pods of another tenant that wait for quota, gates %t: created to bound %v",
		backlog, gated, times)
	return w
}

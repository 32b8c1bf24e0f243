package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"offcut.dev/e2e/cluster"
)

// Applies deploy/kustomize/FOLDER; the API server judges every field.
func applyKustomize(t *testing.T, c *cluster.Cluster, folder string) {
	t.Helper()
	// By force, since the harness has made some of the objects itself.
	output := c.Kubectl("apply", "--server-side", "--force-conflicts", "--validate=strict",
		"-k", "../../deploy/kustomize/"+folder)
	if strings.Contains(output, "Warning") { // of a field that is no more, or of pod security
		t.Errorf("%s: %s", folder, output)
	}
}

func deploymentOf(t *testing.T, c *cluster.Cluster, name string) *appsv1.Deployment {
	t.Helper()
	deployment, err := c.Client.AppsV1().Deployments(cluster.Namespace).Get(t.Context(), name,
		metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return deployment
}

func TestKustomizeIsAcceptedByTheAPIServer(t *testing.T) {
	t.Parallel()
	c := cluster.New(t, cluster.KubeletOptions{})
	applyKustomize(t, c, "base")
	applyKustomize(t, c, "extender")
	requireRights(t, c) // now: the second scheduler's account may do what kube-scheduler does, too
	applyKustomize(t, c, "second-scheduler")
	for _, name := range []string{"offcut-scheduler", "offcut"} {
		deployment := deploymentOf(t, c, name)
		requirePodAccepted(t, c, deployment)
		requireFlagsKnown(t, deployment)
	}
	requireServiceSelectsTheLeader(t, c)
}

// Nobody here makes pods of a Deployment; and only of pods the namespace's level of pod security,
// `restricted`, is demanded.
func requirePodAccepted(t *testing.T, c *cluster.Cluster, deployment *appsv1.Deployment) {
	t.Helper()
	template := deployment.Spec.Template
	pod := &corev1.Pod{ObjectMeta: *template.ObjectMeta.DeepCopy(), Spec: template.Spec}
	pod.Name = deployment.Name + "-0"
	_, err := c.Client.CoreV1().Pods(cluster.Namespace).Create(t.Context(), pod,
		metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		t.Errorf("pod of %s: %v", deployment.Name, err)
	}
}

// Offcut refuses a flag that it does not know with status 2, before it reads any file.
func requireFlagsKnown(t *testing.T, deployment *appsv1.Deployment) {
	t.Helper()
	spec := deployment.Spec.Template.Spec
	for _, container := range slices.Concat(spec.InitContainers, spec.Containers) {
		if container.Name != "offcut" {
			continue
		}
		arguments := slices.Concat(container.Command[1:], container.Args,
			[]string{"--kubeconfig=/does/not/exist"})
		for i := range arguments {
			arguments[i] = expanded(arguments[i], container.Env)
		}
		output, err := exec.CommandContext(t.Context(), os.Getenv("OFFCUT_BINARY"),
			arguments...).CombinedOutput()
		if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != 1 {
			t.Errorf("%s: offcut %v: %v\n%s", deployment.Name, arguments, err, output)
		}
		return
	}
	t.Errorf("%s has no container offcut", deployment.Name)
}

// As the kubelet expands an argument; what comes from the pod itself is a name that any may have.
func expanded(argument string, environment []corev1.EnvVar) string {
	for _, variable := range environment {
		value := variable.Value
		if variable.ValueFrom != nil {
			value = "some-name"
		}
		argument = strings.ReplaceAll(argument, "$("+variable.Name+")", value)
	}
	return argument
}

func requireServiceSelectsTheLeader(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	service, err := c.Client.CoreV1().Services(cluster.Namespace).Get(t.Context(), "offcut",
		metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	selector := labels.SelectorFromSet(service.Spec.Selector)
	standby := deploymentOf(t, c, "offcut").Spec.Template.Labels
	leader := labels.Merge(standby, labels.Set{"offcut.dev/leader": "true"})
	if selector.Matches(labels.Set(standby)) || !selector.Matches(leader) {
		t.Errorf("the Service selects %v", service.Spec.Selector)
	}
}

func requireRights(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	const everywhere = ""
	for _, right := range []struct {
		verbs, group, resource, namespace string
		allowed                           bool
	}{
		{"list watch", "", "nodes", everywhere, true},
		{"get list watch patch", "", "pods", everywhere, true},
		{"create", "", "pods/binding", everywhere, true},
		{"create", "", "pods/eviction", everywhere, false},
		{"create patch", "events.k8s.io", "events", everywhere, true},
		{"get create update", "coordination.k8s.io", "leases", cluster.Namespace, true},
		{"get create update", "coordination.k8s.io", "leases", "default", false},
		{"create update", "", "pods", everywhere, false},
		{"get list watch", "", "secrets", everywhere, false},
	} {
		for verb := range strings.FieldsSeq(right.verbs) {
			if right.allowed {
				c.WaitAllowed(verb, right.group, right.resource, right.namespace)
				continue
			}
			allowed, err := c.Allowed(verb, right.group, right.resource, right.namespace)
			if err != nil || allowed {
				t.Errorf("%s %s in %q is allowed: %v", verb, right.resource, right.namespace, err)
			}
		}
	}
}

// With the configuration and the rights that are shipped, and no others: kube-scheduler and Offcut
// share a service account there, as they share a pod.
func TestKustomizeSecondSchedulerPlacesAPod(t *testing.T) {
	t.Parallel()
	c := cluster.New(t, cluster.KubeletOptions{})
	applyKustomize(t, c, "second-scheduler")
	c.WaitAllowed("list", "apps", "replicasets", "")    // as system:kube-scheduler
	c.WaitAllowed("patch", "", "persistentvolumes", "") // as system:volume-scheduler
	offcut := c.StartOffcut(cluster.OffcutOptions{Arguments: []string{
		"--policy=../../deploy/kustomize/base/policy.yaml", "--leader-elect=lease",
	}})
	cluster.Start(t, c.Folder, "second-scheduler", c.Binary("kube-scheduler"),
		"--config="+shippedConfig(t, c, offcut), "--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", cluster.FreePort(t)))

	c.CreateNode("gpus", cluster.WholeA100x80(8))
	pod := cluster.Pod("train", "nvidia.com/gpu", 2)
	pod.Spec.SchedulerName = "offcut-scheduler"
	c.CreatePods(pod)
	c.Pods.Wait(t, soon, "pod runs", cluster.Running("train"))
	if binding, _ := c.Pods.BindingOf(pod.UID); !binding.WithRecord {
		t.Error("the pod has no devices on record: Offcut did not bind it")
	}
	forbidden := c.Audit(func(event cluster.AuditEvent) bool {
		return event.User.Username == cluster.OffcutUser && event.Response.Code == 403
	})
	for _, event := range forbidden {
		// By whom kube-scheduler's own metrics may be read; it goes on without.
		if !strings.Contains(event.RequestURI, "extension-apiserver-authentication") {
			t.Errorf("the account lacks %s %s", event.Verb, event.RequestURI)
		}
	}
}

// The shipped configuration, with the addresses of this test.
func shippedConfig(t *testing.T, c *cluster.Cluster, offcut *cluster.Offcut) string {
	t.Helper()
	maps, err := c.Client.CoreV1().ConfigMaps(cluster.Namespace).List(t.Context(),
		metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, config := range maps.Items {
		text, ok := config.Data["kube-scheduler.yaml"]
		if !ok {
			continue
		}
		const shipped = "http://127.0.0.1:8080/"
		if !strings.Contains(text, shipped) {
			t.Fatalf("no %s in %s", shipped, text)
		}
		text = strings.Replace(text, shipped, "http://"+offcut.Extender+"/", 1)
		text += fmt.Sprintf("clientConnection: {kubeconfig: %q}\n",
			c.ServiceAccountKubeconfig("offcut", c.APIAddress()))
		path := filepath.Join(c.Folder, "second-scheduler.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Fatal("no ConfigMap with kube-scheduler.yaml")
	return ""
}

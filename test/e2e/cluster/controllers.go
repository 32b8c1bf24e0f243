package cluster

import (
	"fmt"
	"path/filepath"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// The controllers that tests need. The node lifecycle's is left out: nodes here send no heartbeats,
// and it would evict their pods.
const controllers = "deployment-controller,replicaset-controller,job-controller," +
	"disruption-controller,garbage-collector-controller,namespace-controller," +
	"serviceaccount-controller"

// StartControllerManager starts kube-controller-manager, and waits until it is healthy; what its
// controllers do comes later. Without it nobody makes a Deployment's pods, and a budget allows no
// disruption.
func (c *Cluster) StartControllerManager() {
	c.t.Helper()
	const name = "kube-controller-manager"
	port := FreePort(c.t)
	Start(c.t, c.Folder, name, c.Binary(name), "--kubeconfig="+c.kubeconfig,
		"--leader-elect=false", "--controllers="+controllers,
		"--kube-api-qps=200", "--kube-api-burst=400",
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port),
		"--cert-dir="+filepath.Join(c.Folder, name+"-certificates"))
	client := selfSignedClient()
	Eventually(c.t, readyTimeout, name+" healthy", func() error {
		_, err := get(c.t.Context(), client, fmt.Sprintf("https://127.0.0.1:%d/healthz", port))
		return err
	})
}

// AppLabel says of which Deployment a pod is.
const AppLabel = "app"

// CreateDeployment makes a Deployment of so many pods like that one; its name is theirs.
func (c *Cluster) CreateDeployment(pod *corev1.Pod, replicas int32) {
	c.t.Helper()
	labels := map[string]string{AppLabel: pod.Name}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: pod.Annotations},
				Spec:       pod.Spec,
			},
		},
	}
	_, err := c.Client.AppsV1().Deployments(pod.Namespace).Create(c.t.Context(), deployment,
		metav1.CreateOptions{})
	if err != nil {
		c.t.Fatalf("deployment %s: %v", pod.Name, err)
	}
}

// CreateBudget makes a PodDisruptionBudget that keeps so many pods of a Deployment, and waits until
// it is known to allow so many disruptions.
func (c *Cluster) CreateBudget(deployment string, minAvailable int32, allowed int32) {
	c.t.Helper()
	budgets := c.Client.PolicyV1().PodDisruptionBudgets(metav1.NamespaceDefault)
	_, err := budgets.Create(c.t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: deployment},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: ptr.To(intstr.FromInt32(minAvailable)),
			Selector: &metav1.LabelSelector{
				MatchLabels: map[string]string{AppLabel: deployment},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		c.t.Fatalf("budget %s: %v", deployment, err)
	}
	Eventually(c.t, readyTimeout, "status of budget "+deployment, func() error {
		budget, err := budgets.Get(c.t.Context(), deployment, metav1.GetOptions{})
		if err != nil {
			return err
		}
		status := budget.Status
		// A status that nobody has computed yet counts no pods.
		if status.DesiredHealthy != minAvailable || status.DisruptionsAllowed != allowed ||
			status.CurrentHealthy != minAvailable+allowed {
			return fmt.Errorf("it is %+v", status)
		}
		return nil
	})
}

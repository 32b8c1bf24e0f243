package cluster

import (
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Pod returns a pod of one container that asks for so many of a resource; "" asks for none.
func Pod(name, resourceName string, count int64) *corev1.Pod {
	container := corev1.Container{Name: "main", Image: "e2e"}
	if resourceName != "" {
		container.Resources.Limits = corev1.ResourceList{
			corev1.ResourceName(resourceName): *resource.NewQuantity(count, resource.DecimalSI),
		}
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{container}},
	}
}

// Pods returns pods PREFIX-00 and so on, all alike.
func Pods(prefix string, count int, resourceName string, each int64) []*corev1.Pod {
	pods := make([]*corev1.Pod, 0, count)
	for _, name := range Names(prefix, count) {
		pods = append(pods, Pod(name, resourceName, each))
	}
	return pods
}

// NamesOf returns the pods' names.
func NamesOf(pods []*corev1.Pod) []string {
	names := make([]string, 0, len(pods))
	for _, pod := range pods {
		names = append(names, pod.Name)
	}
	return names
}

// CreatePods creates the pods, several at a time, and sets their UIDs.
func (c *Cluster) CreatePods(pods ...*corev1.Pod) {
	c.t.Helper()
	inParallel(pods, func(pod *corev1.Pod) {
		created, err := c.Client.CoreV1().Pods(pod.Namespace).Create(c.t.Context(), pod,
			metav1.CreateOptions{})
		if err != nil {
			c.t.Errorf("pod %s: %v", pod.Name, err)
			return
		}
		pod.UID = created.UID
	})
}

// DeletePods asks for the pods' deletion, as a user does; the stub kubelet carries it out.
func (c *Cluster) DeletePods(names ...string) {
	c.t.Helper()
	c.DeletePodsIn(metav1.NamespaceDefault, names...)
}

// DeletePodsIn does so in another namespace than the default one.
func (c *Cluster) DeletePodsIn(namespace string, names ...string) {
	c.t.Helper()
	inParallel(names, func(name string) {
		err := c.Client.CoreV1().Pods(namespace).Delete(c.t.Context(), name,
			metav1.DeleteOptions{})
		if err != nil {
			c.t.Errorf("deleting pod %s: %v", name, err)
		}
	})
}

// BindByHand binds a pod without Offcut, as any other scheduler would. The pod must carry the
// label BoundByOthers.
func (c *Cluster) BindByHand(pod *corev1.Pod, node string) {
	c.t.Helper()
	err := c.Client.CoreV1().Pods(pod.Namespace).Bind(c.t.Context(), &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node},
	}, metav1.CreateOptions{})
	if err != nil {
		c.t.Fatalf("binding %s: %v", pod.Name, err)
	}
}

// CreateNamespaces makes namespaces without any label.
func (c *Cluster) CreateNamespaces(names ...string) {
	c.t.Helper()
	for _, name := range names {
		_, err := c.Client.CoreV1().Namespaces().Create(c.t.Context(),
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		if err != nil {
			c.t.Fatal(err)
		}
	}
}

// CreatePriorityClass makes a priority that pods can name.
func (c *Cluster) CreatePriorityClass(name string, value int32) {
	c.t.Helper()
	_, err := c.Client.SchedulingV1().PriorityClasses().Create(c.t.Context(),
		&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value},
		metav1.CreateOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
}

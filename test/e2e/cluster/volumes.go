package cluster

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// CreateSlowVolumes makes claims PREFIX-00 and so on in the default namespace, that the scheduler
// binds to volumes once it has chosen a node (WaitForFirstConsumer), and stands in for the volume
// controller: a claim is bound that long after the scheduler has picked its volume.
func (c *Cluster) CreateSlowVolumes(prefix string, count int, delay time.Duration) {
	c.t.Helper()
	waits := storagev1.VolumeBindingWaitForFirstConsumer
	class := "slow"
	_, err := c.Client.StorageV1().StorageClasses().Create(c.t.Context(), &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: "kubernetes.io/no-provisioner",
		VolumeBindingMode: &waits,
	}, metav1.CreateOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	inParallel(Names(prefix, count), func(name string) {
		_, err := c.Client.CoreV1().PersistentVolumes().Create(c.t.Context(), &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.PersistentVolumeSpec{
				Capacity: size, AccessModes: modes, StorageClassName: class,
				PersistentVolumeSource: corev1.PersistentVolumeSource{
					HostPath: &corev1.HostPathVolumeSource{Path: "/nowhere"},
				},
			},
		}, metav1.CreateOptions{})
		if err != nil {
			c.t.Error(err)
		}
		_, err = c.Client.CoreV1().PersistentVolumes().Patch(c.t.Context(), name, types.MergePatchType,
			[]byte(`{"status": {"phase": "Available"}}`), metav1.PatchOptions{}, "status")
		if err != nil {
			c.t.Error(err)
		}
		claims := c.Client.CoreV1().PersistentVolumeClaims(metav1.NamespaceDefault)
		_, err = claims.Create(c.t.Context(), &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: modes, StorageClassName: &class,
				Resources: corev1.VolumeResourceRequirements{Requests: size},
			},
		}, metav1.CreateOptions{})
		if err != nil {
			c.t.Error(err)
		}
		_, err = claims.Patch(c.t.Context(), name, types.MergePatchType,
			[]byte(`{"status": {"phase": "Pending"}}`), metav1.PatchOptions{}, "status")
		if err != nil {
			c.t.Error(err)
		}
	})
	run(c.t, func(ctx context.Context) { c.bindVolumes(ctx, delay) })
}

// Needs no list: it starts before any pod can make the scheduler pick a volume.
func (c *Cluster) bindVolumes(ctx context.Context, delay time.Duration) {
	stream, err := c.Client.CoreV1().PersistentVolumes().Watch(ctx, metav1.ListOptions{})
	if err != nil {
		c.t.Errorf("watching volumes: %v", err)
		return
	}
	defer stream.Stop()
	var group sync.WaitGroup
	defer group.Wait()
	begun := map[string]bool{}
	for event := range stream.ResultChan() {
		volume, isVolume := event.Object.(*corev1.PersistentVolume)
		if isVolume && volume.Spec.ClaimRef != nil && !begun[volume.Name] {
			begun[volume.Name] = true
			claim := volume.Spec.ClaimRef.Name
			group.Go(func() { c.completeClaim(ctx, claim, volume.Name, delay) })
		}
	}
}

func (c *Cluster) completeClaim(ctx context.Context, claim, volume string, delay time.Duration) {
	select {
	case <-ctx.Done():
		return
	case <-time.After(delay):
	}
	claims := c.Client.CoreV1().PersistentVolumeClaims(metav1.NamespaceDefault)
	_, err := claims.Patch(ctx, claim, types.MergePatchType, []byte(`{
		"metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
		"spec": {"volumeName": "`+volume+`"}}`), metav1.PatchOptions{})
	if err == nil {
		_, err = claims.Patch(ctx, claim, types.MergePatchType,
			[]byte(`{"status": {"phase": "Bound"}}`), metav1.PatchOptions{}, "status")
	}
	if err != nil && ctx.Err() == nil {
		c.t.Errorf("claim %s: %v", claim, err)
	}
}

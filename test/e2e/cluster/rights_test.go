package cluster

import (
	"slices"
	"testing"
)

func request(verb, group, resource, subresource, namespace string) AuditEvent {
	event := AuditEvent{Verb: verb, RequestURI: "/" + resource}
	event.Object.Group, event.Object.Resource = group, resource
	event.Object.Subresource, event.Object.Namespace = subresource, namespace
	return event
}

func TestRightsAreComparedWithRequests(t *testing.T) {
	const leases = "coordination.k8s.io"
	listPods := request("list", "", "pods", "", "")
	patchPod := request("patch", "", "pods", "", "default")
	patchOurPod := request("patch", "", "pods", "", Namespace)
	bind := request("create", "", "pods", "binding", "default")
	getLease := request("get", leases, "leases", "", Namespace)
	mayList := Right{Verb: "list", Resource: "pods"}
	mayPatch := Right{Verb: "patch", Resource: "pods"}
	mayPatchOurs := Right{Verb: "patch", Resource: "pods", Namespace: Namespace}
	mayBind := Right{Verb: "create", Resource: "pods/binding"}
	mayGetLease := Right{Verb: "get", Group: leases, Resource: "leases", Namespace: Namespace}
	mayGetLeases := Right{Verb: "get", Group: leases, Resource: "leases"}
	for _, test := range []struct {
		name     string
		rights   []Right
		requests []AuditEvent
		want     []string
	}{
		{"each has its right", []Right{mayList, mayBind, mayGetLease},
			[]AuditEvent{listPods, bind, getLease, getLease}, nil},
		{"a subresource is another resource", []Right{{Verb: "create", Resource: "pods"}},
			[]AuditEvent{bind},
			[]string{"not granted: create /pods",
				"granted and not needed: create pods everywhere"}},
		{"another group", []Right{{Verb: "get", Resource: "leases", Namespace: Namespace}},
			[]AuditEvent{getLease},
			[]string{"not granted: get /leases",
				"granted and not needed: get leases in " + Namespace}},
		{"a Role does not reach beyond its namespace", []Right{mayPatchOurs},
			[]AuditEvent{patchOurPod, patchPod}, []string{"not granted: patch /pods"}},
		{"granted twice", []Right{mayPatch, mayPatchOurs}, []AuditEvent{patchOurPod, patchPod},
			[]string{"granted and not needed: patch pods in " + Namespace}},
		{"too wide", []Right{mayGetLeases}, []AuditEvent{getLease},
			[]string{"needed in " + Namespace + " alone: get leases." + leases + " everywhere"}},
		{"a wildcard", []Right{{Verb: "*", Resource: "pods"}}, nil,
			[]string{"granted and not needed: * pods everywhere"}},
	} {
		got := RightsFaults(test.rights, test.requests)
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, not %q", test.name, got, test.want)
		}
	}
}

package cluster

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Right is one verb on one kind of object, as a rule of a Role or ClusterRole grants it.
type Right struct {
	Verb, Group string
	Resource    string // with its subresource: pods/binding
	Namespace   string // "": all of them, and objects that have none
	Name        string // "": whatever its name
}

// WaitAllowed returns once Offcut's account may do so: a Role counts a moment after it was made.
func (c *Cluster) WaitAllowed(verb, group, resource, namespace string) {
	c.t.Helper()
	what := fmt.Sprintf("%s may %s", OffcutUser, Right{verb, group, resource, namespace, ""})
	Eventually(c.t, readyTimeout, what, func() error {
		allowed, err := c.Allowed(verb, group, resource, namespace)
		if err == nil && !allowed {
			err = errors.New("not yet")
		}
		return err
	})
}

// Allowed reports whether Offcut's account may do so, as the API server sees it now. The resource
// may have a subresource: pods/binding.
func (c *Cluster) Allowed(verb, group, resource, namespace string) (bool, error) {
	right := authorizationv1.ResourceAttributes{Verb: verb, Group: group, Namespace: namespace}
	right.Resource, right.Subresource, _ = strings.Cut(resource, "/")
	review, err := c.Client.AuthorizationV1().SubjectAccessReviews().Create(c.t.Context(),
		&authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: OffcutUser, ResourceAttributes: &right,
		}}, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return review.Status.Allowed, nil
}

func (r Right) String() string {
	text := r.Verb + " " + r.Resource
	if r.Group != "" {
		text += "." + r.Group
	}
	if r.Name != "" {
		text += " " + r.Name
	}
	if r.Namespace == "" {
		return text + " everywhere"
	}
	return text + " in " + r.Namespace
}

func (r Right) covers(request AuditEvent) bool {
	return r.Verb == request.Verb && r.Group == request.Object.Group &&
		r.Resource == request.resource() &&
		(r.Namespace == "" || r.Namespace == request.Object.Namespace) &&
		(r.Name == "" || r.Name == request.Object.Name)
}

func (e AuditEvent) resource() string {
	if e.Object.Subresource == "" {
		return e.Object.Resource
	}
	return e.Object.Resource + "/" + e.Object.Subresource
}

// RightsOf returns what the API server's bindings grant to a service account in Namespace by its
// name; what every account may do is not among it.
func (c *Cluster) RightsOf(account string) []Right {
	c.t.Helper()
	isBound := func(subjects []rbacv1.Subject) bool {
		return slices.ContainsFunc(subjects, func(subject rbacv1.Subject) bool {
			return subject.Kind == rbacv1.ServiceAccountKind && subject.Name == account &&
				subject.Namespace == Namespace
		})
	}
	everywhere, err := c.Client.RbacV1().ClusterRoleBindings().List(c.t.Context(),
		metav1.ListOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	bindings, err := c.Client.RbacV1().RoleBindings("").List(c.t.Context(), metav1.ListOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	var rights []Right
	for _, binding := range everywhere.Items {
		if isBound(binding.Subjects) {
			rights = append(rights, rightsIn("", c.rulesOf(binding.RoleRef, ""))...)
		}
	}
	for _, binding := range bindings.Items {
		if isBound(binding.Subjects) {
			rights = append(rights,
				rightsIn(binding.Namespace, c.rulesOf(binding.RoleRef, binding.Namespace))...)
		}
	}
	return rights
}

func (c *Cluster) rulesOf(role rbacv1.RoleRef, namespace string) []rbacv1.PolicyRule {
	c.t.Helper()
	if role.Kind == "ClusterRole" {
		found, err := c.Client.RbacV1().ClusterRoles().Get(c.t.Context(), role.Name,
			metav1.GetOptions{})
		if err != nil {
			c.t.Fatal(err)
		}
		return found.Rules
	}
	found, err := c.Client.RbacV1().Roles(namespace).Get(c.t.Context(), role.Name,
		metav1.GetOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	return found.Rules
}

// A wildcard stays the text that it is: it covers no request here, and so is a fault.
func rightsIn(namespace string, rules []rbacv1.PolicyRule) []Right {
	var rights []Right
	for _, rule := range rules {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, verb := range rule.Verbs {
			for _, url := range rule.NonResourceURLs {
				rights = append(rights, Right{Verb: verb, Resource: url, Namespace: namespace})
			}
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, name := range names {
						rights = append(rights, Right{verb, group, resource, namespace, name})
					}
				}
			}
		}
	}
	return rights
}

// RightsFaults compares what is granted with what was asked for: each request has a right, each
// right a request that no other one covers, and what was asked in one namespace alone is granted
// there alone.
func RightsFaults(rights []Right, requests []AuditEvent) []string {
	var faults []string
	told := map[string]bool{}
	needed := map[Right]bool{}
	elsewhere := map[Right]bool{} // asked outside of Namespace
	for _, request := range requests {
		var covering []Right
		for _, right := range rights {
			if right.covers(request) {
				covering = append(covering, right)
			}
		}
		if len(covering) == 0 {
			fault := fmt.Sprintf("not granted: %s %s", request.Verb, request.RequestURI)
			if !told[fault] {
				told[fault] = true
				faults = append(faults, fault)
			}
		}
		if len(covering) == 1 {
			needed[covering[0]] = true
		}
		for _, right := range covering {
			elsewhere[right] = elsewhere[right] || request.Object.Namespace != Namespace
		}
	}
	for _, right := range rights {
		switch {
		case !needed[right]:
			faults = append(faults, fmt.Sprintf("granted and not needed: %s", right))
		case right.Namespace == "" && !elsewhere[right]:
			faults = append(faults, fmt.Sprintf("needed in %s alone: %s", Namespace, right))
		}
	}
	return faults
}

package cluster

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"time"
)

// OffcutUser is the name under which the API server knows Offcut's service account.
const OffcutUser = "system:serviceaccount:" + Namespace + ":offcut"

// AuditEvent is one request that the API server saw.
type AuditEvent struct {
	Verb       string `json:"verb"`
	RequestURI string `json:"requestURI"`
	Stage      string `json:"stage"`
	User       struct {
		Username string `json:"username"`
	} `json:"user"`
	Object struct {
		Group       string `json:"apiGroup"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	Response struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	Received time.Time `json:"requestReceivedTimestamp"`
}

func (c *Cluster) auditLog() string { return filepath.Join(c.Folder, "audit.log") }

// Audit returns the requests seen so far that `wanted` picks. A watch shows twice: when it starts
// (stage ResponseStarted) and when it ends.
func (c *Cluster) Audit(wanted func(AuditEvent) bool) []AuditEvent {
	c.t.Helper()
	file, err := os.Open(c.auditLog())
	if err != nil {
		c.t.Fatal(err)
	}
	defer file.Close()
	var events []AuditEvent
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event AuditEvent
		if json.Unmarshal(lines.Bytes(), &event) != nil {
			continue // a line cut off by a kill of the API server
		}
		if wanted(event) {
			events = append(events, event)
		}
	}
	if err := lines.Err(); err != nil {
		c.t.Fatal(err)
	}
	return events
}

// BindingsOf returns the successful bindings of a pod, by whomever. There must never be two.
func (c *Cluster) BindingsOf(pod string) []AuditEvent {
	c.t.Helper()
	return c.Audit(func(event AuditEvent) bool {
		return event.Verb == "create" && event.Object.Resource == "pods" &&
			event.Object.Subresource == "binding" && event.Object.Name == pod &&
			event.Response.Code < 300
	})
}

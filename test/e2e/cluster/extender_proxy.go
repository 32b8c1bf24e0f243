package cluster

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"path"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ExtenderProxy stands between kube-scheduler and Offcut, as the Service does when Offcut is an
// extender alone. It keeps every call, and can be late or broken.
type ExtenderProxy struct {
	listener net.Listener
	client   *http.Client
	mutex    sync.Mutex
	target   string // IP:PORT; "" refuses
	calls    []Call
	delays   map[string]*delay // by verb
	broken   map[string]bool   // verbs that are answered with 500
}

type delay struct {
	calls          int // how many are still to be held back
	request, reply time.Duration
}

// Call is one question of kube-scheduler and its answer.
type Call struct {
	Verb     string // filter, prioritize, preempt, bind
	PodUID   types.UID
	Pod      string
	Node     string // bind's
	Request  []byte
	Status   int // 0: no answer came
	Response []byte
	Start    time.Time
	Took     time.Duration // by Offcut, without the delays that were asked for
}

// Question is what is asked about: nodes, or victims on them, by name or whole.
type Question struct {
	Nodes                 *corev1.NodeList
	NodeNames             []string
	NodeNameToVictims     map[string]Victims
	NodeNameToMetaVictims map[string]MetaVictims
}

// Victims are pods of a node that preemption would evict.
type Victims struct {
	Pods             []corev1.Pod
	NumPDBViolations int64
}

// MetaVictims are Victims by their UIDs.
type MetaVictims struct {
	Pods             []MetaPod
	NumPDBViolations int64
}

// MetaPod is a pod by its UID.
type MetaPod struct{ UID types.UID }

// Names returns the nodes' names, in the order in which they came.
func (q Question) Names() []string {
	names := q.NodeNames
	if q.Nodes != nil {
		for _, node := range q.Nodes.Items {
			names = append(names, node.Name)
		}
	}
	return names
}

// Victims returns the victims by node, whichever form they came in.
func (q Question) Victims() map[string]MetaVictims {
	all := maps.Clone(q.NodeNameToMetaVictims)
	for node, victims := range q.NodeNameToVictims {
		if all == nil {
			all = map[string]MetaVictims{}
		}
		pods := []MetaPod{}
		for _, pod := range victims.Pods {
			pods = append(pods, MetaPod{pod.UID})
		}
		all[node] = MetaVictims{pods, victims.NumPDBViolations}
	}
	return all
}

// FilterResult is the answer to a filter call.
type FilterResult struct {
	NodeNames                  []string
	FailedNodes                map[string]string
	FailedAndUnresolvableNodes map[string]string
	Error                      string
}

// HostPriority is one row of the answer to a prioritize call.
type HostPriority struct {
	Host  string
	Score int64
}

// NewExtenderProxy listens until the test ends.
func NewExtenderProxy(t testing.TB) *ExtenderProxy {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	proxy := &ExtenderProxy{
		listener: listener, delays: map[string]*delay{}, broken: map[string]bool{},
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
	}
	server := &http.Server{Handler: proxy}
	go server.Serve(listener)
	t.Cleanup(func() {
		server.Close()
		proxy.client.CloseIdleConnections()
	})
	return proxy
}

// Address returns the IP:PORT for the scheduler's configuration.
func (p *ExtenderProxy) Address() string { return p.listener.Addr().String() }

// SetTarget says who answers from now on; "" is nobody: connections break.
func (p *ExtenderProxy) SetTarget(address string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.target = address
}

// DelayNext holds the next calls of a verb back: the request before Offcut sees it, the reply
// before the scheduler does.
func (p *ExtenderProxy) DelayNext(verb string, calls int, request, reply time.Duration) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.delays[verb] = &delay{calls, request, reply}
}

// Break says whether a verb is answered with 500 from now on, in place of Offcut.
func (p *ExtenderProxy) Break(verb string, broken bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.broken[verb] = broken
}

func (p *ExtenderProxy) takeDelay(verb string) (request, reply time.Duration) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	late := p.delays[verb]
	if late == nil || late.calls == 0 {
		return 0, 0
	}
	late.calls--
	return late.request, late.reply
}

func (p *ExtenderProxy) ServeHTTP(writer http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	call := Call{Verb: path.Base(request.URL.Path), Request: body, Start: time.Now()}
	call.readRequest(body)
	lateRequest, lateReply := p.takeDelay(call.Verb)
	// The request goes on after the scheduler has hung up, as one under way on the network would.
	time.Sleep(lateRequest)
	p.mutex.Lock()
	target, isBroken := p.target, p.broken[call.Verb]
	p.mutex.Unlock()
	started := time.Now()
	contentType := "text/plain"
	if isBroken {
		call.Status, call.Response = http.StatusInternalServerError, []byte("broken")
	} else {
		contentType, err = p.ask(target, request.URL.Path, body, &call)
	}
	call.Took = time.Since(started)
	p.mutex.Lock()
	p.calls = append(p.calls, call)
	p.mutex.Unlock()
	if err != nil {
		panic(http.ErrAbortHandler) // breaks the connection, as a dead server does
	}
	time.Sleep(lateReply)
	writer.Header().Set("Content-Type", contentType)
	writer.WriteHeader(call.Status)
	writer.Write(call.Response)
}

func (p *ExtenderProxy) ask(target, urlPath string, body []byte, call *Call) (string, error) {
	if target == "" {
		return "", errors.New("nobody answers")
	}
	response, err := p.client.Post("http://"+target+urlPath, "application/json", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	call.Response, err = io.ReadAll(response.Body)
	if err != nil {
		return "", err
	}
	call.Status = response.StatusCode
	return response.Header.Get("Content-Type"), nil
}

// The request's shape tells bind from the others.
func (c *Call) readRequest(body []byte) {
	var arguments struct {
		Pod struct {
			Metadata struct {
				Name string    `json:"name"`
				UID  types.UID `json:"uid"`
			} `json:"metadata"`
		}
		PodName string
		PodUID  types.UID
		Node    string
	}
	if json.Unmarshal(body, &arguments) != nil {
		return // a call of nobody; Offcut answers 400
	}
	c.Pod, c.PodUID = arguments.Pod.Metadata.Name, arguments.Pod.Metadata.UID
	if c.Verb == "bind" {
		c.Pod, c.PodUID, c.Node = arguments.PodName, arguments.PodUID, arguments.Node
	}
}

// Calls returns the calls of a verb so far, in the order in which they were answered.
func (p *ExtenderProxy) Calls(verb string) []Call {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	var calls []Call
	for _, call := range p.calls {
		if call.Verb == verb {
			calls = append(calls, call)
		}
	}
	return calls
}

// CallsFor returns the calls of a verb for one pod.
func (p *ExtenderProxy) CallsFor(verb string, uid types.UID) []Call {
	var calls []Call
	for _, call := range p.Calls(verb) {
		if call.PodUID == uid {
			calls = append(calls, call)
		}
	}
	return calls
}

// Question reads what was asked.
func (c Call) Question(t testing.TB) Question {
	t.Helper()
	var question Question
	if err := json.Unmarshal(c.Request, &question); err != nil {
		t.Fatalf("%s of %s asked %s: %v", c.Verb, c.Pod, c.Request, err)
	}
	return question
}

// Filter reads the answer to a filter call.
func (c Call) Filter(t testing.TB) FilterResult {
	t.Helper()
	var result FilterResult
	c.read(t, &result)
	return result
}

// Scores reads the answer to a prioritize call.
func (c Call) Scores(t testing.TB) []HostPriority {
	t.Helper()
	var scores []HostPriority
	c.read(t, &scores)
	return scores
}

// Preempted reads the answer to a preempt call: the victims that were kept, by node.
func (c Call) Preempted(t testing.TB) map[string]MetaVictims {
	t.Helper()
	var result struct{ NodeNameToMetaVictims map[string]MetaVictims }
	c.read(t, &result)
	return result.NodeNameToMetaVictims
}

// BindError reads the answer to a bind call: "" is success.
func (c Call) BindError(t testing.TB) string {
	t.Helper()
	var result struct{ Error string }
	c.read(t, &result)
	return result.Error
}

func (c Call) read(t testing.TB, into any) {
	t.Helper()
	if c.Status != http.StatusOK {
		t.Fatalf("%s of %s was answered %d: %s", c.Verb, c.Pod, c.Status, c.Response)
	}
	if err := json.Unmarshal(c.Response, into); err != nil {
		t.Fatalf("%s of %s was answered %s: %v", c.Verb, c.Pod, c.Response, err)
	}
}

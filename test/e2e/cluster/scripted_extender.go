package cluster

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"sync/atomic"
	"testing"
)

// ScriptedExtender is another extender beside Offcut, which does what the test says. Its calls are
// kept as Offcut's are.
type ScriptedExtender struct {
	*ExtenderProxy
	options ScriptedOptions
	answers atomic.Pointer[Answers]
}

// ScriptedOptions is its entry in the scheduler's configuration.
type ScriptedOptions struct {
	Verbs      []string // of filter, prioritize and preempt; it never binds
	Weight     int      // of its scores; 0 is 1
	Ignorable  bool
	WholeNodes bool     // nodeCacheCapable: false; for preempt alone
	Resources  []string // managedResources; none: every pod is its business
}

// Answers is what a ScriptedExtender says. The zero value passes every node, scores each 0 and
// leaves victims as they came.
type Answers struct {
	Failed       map[string]string // why a node is refused, by its name
	Unresolvable map[string]string // the same, and no eviction would help
	Scores       map[string]int64  // of a node, by its name
	Error        string            // of filter, in place of nodes
	Broken       []string          // verbs that are answered with 500
	Victims      Choose            // of preempt; nil leaves them as they came
}

// Choose says who is to go, by node, of those who were proposed.
type Choose func(proposed map[string]MetaVictims) map[string]MetaVictims

// NewScriptedExtender answers until the test ends.
func NewScriptedExtender(t testing.TB, options ScriptedOptions) *ScriptedExtender {
	t.Helper()
	extender := &ScriptedExtender{ExtenderProxy: NewExtenderProxy(t), options: options}
	extender.Answer(Answers{})
	server := httptest.NewServer(extender.handler())
	t.Cleanup(server.Close)
	extender.SetTarget(server.Listener.Addr().String())
	return extender
}

// Answer says how it answers from now on.
func (e *ScriptedExtender) Answer(answers Answers) { e.answers.Store(&answers) }

func (e *ScriptedExtender) entry() map[string]any {
	entry := map[string]any{
		"urlPrefix": "http://" + e.Address(), "weight": max(e.options.Weight, 1),
		"ignorable": e.options.Ignorable, "nodeCacheCapable": !e.options.WholeNodes,
	}
	for _, verb := range e.options.Verbs {
		entry[verb+"Verb"] = verb
	}
	managed := []any{}
	for _, name := range e.options.Resources {
		managed = append(managed, map[string]any{"name": name})
	}
	entry["managedResources"] = managed
	return entry
}

func (e *ScriptedExtender) handler() http.HandlerFunc {
	return func(writer http.ResponseWriter, request *http.Request) {
		verb, answers := path.Base(request.URL.Path), e.answers.Load()
		var asked Question
		err := json.NewDecoder(request.Body).Decode(&asked)
		if err != nil || slices.Contains(answers.Broken, verb) {
			http.Error(writer, "broken", http.StatusInternalServerError)
			return
		}
		writer.Header().Set("Content-Type", "application/json")
		json.NewEncoder(writer).Encode(answers.reply(verb, asked))
	}
}

func (a *Answers) reply(verb string, asked Question) any {
	switch verb {
	case "filter":
		return a.filter(asked)
	case "prioritize":
		scores := []HostPriority{}
		for _, name := range asked.Names() {
			scores = append(scores, HostPriority{Host: name, Score: a.Scores[name]})
		}
		return scores
	default: // preempt, in both forms answered in the short one
		victims := asked.Victims()
		if a.Victims != nil {
			victims = a.Victims(victims)
		}
		return map[string]any{"NodeNameToMetaVictims": victims}
	}
}

func (a *Answers) filter(asked Question) any {
	if a.Error != "" {
		return FilterResult{Error: a.Error}
	}
	result := FilterResult{
		NodeNames: []string{}, FailedNodes: map[string]string{},
		FailedAndUnresolvableNodes: map[string]string{},
	}
	for _, name := range asked.Names() {
		if why, refused := a.Failed[name]; refused {
			result.FailedNodes[name] = why
		} else if why, refused := a.Unresolvable[name]; refused {
			result.FailedAndUnresolvableNodes[name] = why
		} else {
			result.NodeNames = append(result.NodeNames, name)
		}
	}
	return result
}

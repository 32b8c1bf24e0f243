package cluster

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// How long Offcut may take from its start until it is synced, and until a change has reached it.
const (
	syncTimeout   = time.Minute
	ledgerTimeout = time.Minute
)

// OffcutOptions is what differs between the tests.
type OffcutOptions struct {
	Name      string         // of its log; "" is offcut
	Server    string         // the API server's IP:PORT; "" is direct
	Extender  *ExtenderProxy // its target becomes this Offcut whenever it is ready
	Arguments []string       // further ones of `serve`
	Pod       string         // it runs as this pod, with its name in POD_NAME; "" is none
}

// Offcut is one `offcut serve` on the cluster, with the service account's rights.
type Offcut struct {
	Extender, Health, Metrics string // IP:PORT
	cluster                   *Cluster
	options                   OffcutOptions
	kubeconfig                string
	process                   *Process
}

// StartOffcut starts the program under test and waits until it is synced.
func (c *Cluster) StartOffcut(options OffcutOptions) *Offcut {
	c.t.Helper()
	if options.Name == "" {
		options.Name = "offcut"
	}
	if options.Server == "" {
		options.Server = c.APIAddress()
	}
	offcut := &Offcut{
		cluster: c, options: options,
		kubeconfig: c.ServiceAccountKubeconfig("offcut", options.Server),
	}
	offcut.Start()
	return offcut
}

func offcutBinary(t testing.TB) string {
	t.Helper()
	path := os.Getenv("OFFCUT_BINARY")
	if path == "" {
		path = "../../build/release/bin/offcut"
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return absolute
}

// Start starts it again after Kill or Stop, on new ports, and waits until it is synced.
func (o *Offcut) Start() {
	t := o.cluster.t
	t.Helper()
	arguments := append([]string{"serve", "--kubeconfig", o.kubeconfig,
		"--bind-address", "127.0.0.1:0", "--health-bind-address", "127.0.0.1:0",
		"--metrics-bind-address", "127.0.0.1:0"}, o.options.Arguments...)
	var environment []string
	if o.options.Pod != "" {
		environment = []string{"POD_NAME=" + o.options.Pod, "POD_NAMESPACE=" + Namespace}
	}
	o.process = startWith(t, o.cluster.Folder, o.options.Name, environment, offcutBinary(t),
		arguments...)
	o.Extender = o.process.WaitLine(t, "listening extender ", syncTimeout)
	o.Health = o.process.WaitLine(t, "listening health ", syncTimeout)
	o.Metrics = o.process.WaitLine(t, "listening metrics ", syncTimeout)
	o.process.WaitLine(t, "ready", syncTimeout)
	if o.options.Extender != nil {
		o.options.Extender.SetTarget(o.Extender)
	}
}

// Kill ends it as SIGKILL does.
func (o *Offcut) Kill() { o.process.Kill() }

// Stop ends it as a rolling update does.
func (o *Offcut) Stop() { o.process.Stop(o.cluster.t) }

// Pid returns its process id: the same one proves that it survived.
func (o *Offcut) Pid() int { return o.process.Pid() }

// Get returns a page of its read-only API, metrics included.
func (o *Offcut) Get(path string) ([]byte, error) {
	return get(o.cluster.t.Context(), http.DefaultClient, "http://"+o.Metrics+path)
}

// Metric returns the sum of a metric's samples; `labels` is text that a sample's name must hold.
func (o *Offcut) Metric(name, labels string) float64 {
	t := o.cluster.t
	t.Helper()
	text, err := o.Get("/metrics")
	if err != nil {
		t.Fatal(err)
	}
	sum, found := metricSum(t, text, name, labels)
	if !found {
		t.Fatalf("no metric %s with %q", name, labels)
	}
	return sum
}

// The sum of a metric's samples in a page of /metrics, and whether there is one.
func metricSum(t testing.TB, page []byte, name, labels string) (sum float64, found bool) {
	t.Helper()
	lines := bufio.NewScanner(bytes.NewReader(page))
	for lines.Scan() {
		sample, value, _ := strings.Cut(lines.Text(), " ")
		base, _, _ := strings.Cut(sample, "{")
		if base == name && strings.Contains(sample, labels) {
			number, err := strconv.ParseFloat(value, 64)
			if err != nil {
				t.Fatalf("metric line %q: %v", lines.Text(), err)
			}
			sum, found = sum+number, true
		}
	}
	return sum, found
}

// Holders returns how many devices it sees held by each pod, by UID.
func (o *Offcut) Holders() (map[types.UID]int, error) {
	text, err := o.Get("/api/v1/gpus")
	if err != nil {
		return nil, err
	}
	var page struct {
		Items []struct {
			Holders []struct {
				UID    types.UID `json:"uid"`
				Pieces int       `json:"pieces"`
			} `json:"holders"`
		} `json:"items"`
	}
	if err := json.Unmarshal(text, &page); err != nil {
		return nil, fmt.Errorf("/api/v1/gpus: %w", err)
	}
	holders := map[types.UID]int{}
	for _, gpu := range page.Items {
		for _, holder := range gpu.Holders {
			holders[holder.UID] += holder.Pieces
		}
	}
	return holders, nil
}

// ledger returns its view of the nodes, the GPUs and who holds them, in one order.
func (o *Offcut) ledger() (string, error) {
	var all []any
	for _, path := range []string{"/api/v1/nodes", "/api/v1/gpus"} {
		text, err := o.Get(path)
		if err != nil {
			return "", err
		}
		var page any
		if err := json.Unmarshal(text, &page); err != nil {
			return "", fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, sorted(page))
	}
	text, err := json.MarshalIndent(all, "", " ")
	return string(text), err
}

// Sorts every array by the text of its elements.
func sorted(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key := range value {
			value[key] = sorted(value[key])
		}
	case []any:
		text := func(element any) string {
			bytes, _ := json.Marshal(element)
			return string(bytes)
		}
		for i := range value {
			value[i] = sorted(value[i])
		}
		slices.SortFunc(value, func(a, b any) int { return strings.Compare(text(a), text(b)) })
	}
	return value
}

// RequireLedgerEqualsRebuild compares it with an Offcut that starts now and knows nothing but
// what the API server lists. Nothing may change in the cluster meanwhile.
func (o *Offcut) RequireLedgerEqualsRebuild() {
	t := o.cluster.t
	t.Helper()
	fresh := o.cluster.StartOffcut(OffcutOptions{Name: "offcut-rebuilt"})
	defer fresh.Stop()
	Eventually(t, ledgerTimeout, "ledger equals a rebuild", func() error {
		mine, err := o.ledger()
		if err != nil {
			return err
		}
		rebuilt, err := fresh.ledger()
		if err != nil {
			return err
		}
		return firstDifference(mine, rebuilt)
	})
}

func firstDifference(mine, rebuilt string) error {
	a, b := strings.Split(mine, "\n"), strings.Split(rebuilt, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			from := max(0, i-8)
			return fmt.Errorf("line %d: it has\n%s\na rebuild has\n%s", i+1,
				strings.Join(a[from:i+1], "\n"), strings.Join(b[from:i+1], "\n"))
		}
	}
	if len(a) != len(b) {
		return fmt.Errorf("it has %d lines, a rebuild %d", len(a), len(b))
	}
	return nil
}

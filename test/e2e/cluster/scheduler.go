package cluster

import (
	"crypto/tls"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// SchedulerOptions is what differs between the tests; its zero value is a plain kube-scheduler.
type SchedulerOptions struct {
	Name     string         // of the profile; "" is default-scheduler
	Log      string         // what its log is named after; "" is the profile
	Extender *ExtenderProxy // nil: no Offcut
	Timeout  time.Duration  // Offcut's httpTimeout; 0 is the shipped file's
	Elect    bool           // take part in the election of the schedulers' leader

	Address    string         // Offcut's IP:PORT where no proxy stands before it; "" is the proxy's
	WholeNodes bool           // nodeCacheCapable: false
	Entry      map[string]any // what is other in Offcut's entry; nil takes a key away
	Before     []*ScriptedExtender
	After      []*ScriptedExtender // Offcut in the list of extenders
	NoScores   bool                // no plugin scores nodes
	ClientQPS  int                 // of its own requests; 200 at least
	Flags      []string
}

// Scheduler is one kube-scheduler that runs.
type Scheduler struct {
	*Process
	t      testing.TB
	client *http.Client
	url    string
	log    string // path
}

// StartScheduler starts a kube-scheduler with the shipped configuration, its addresses and names
// put in.
func (c *Cluster) StartScheduler(options SchedulerOptions) *Scheduler {
	c.t.Helper()
	if options.Name == "" {
		options.Name = corev1.DefaultSchedulerName
	}
	if options.Log == "" {
		options.Log = options.Name
	}
	name := "kube-scheduler-" + options.Log
	port := FreePort(c.t)
	scheduler := &Scheduler{
		t: c.t, url: fmt.Sprintf("https://127.0.0.1:%d", port),
		log:    filepath.Join(c.Folder, name+".log"),
		client: selfSignedClient(),
	}
	scheduler.Process = Start(c.t, c.Folder, name, c.Binary("kube-scheduler"), append([]string{
		"--config=" + c.schedulerConfig(name, options),
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port),
		"--cert-dir=" + filepath.Join(c.Folder, name+"-certificates"), "-v=3",
		"--authorization-always-allow-paths=/readyz,/metrics",
	}, options.Flags...)...)
	Eventually(c.t, readyTimeout, name+" ready", func() error {
		_, err := scheduler.get("/readyz")
		return err
	})
	return scheduler
}

// For a server whose certificate is one that it made for itself a moment ago.
func selfSignedClient() *http.Client {
	return &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true,
	}}
}

func (s *Scheduler) get(path string) ([]byte, error) {
	return get(s.t.Context(), s.client, s.url+path)
}

// Metric returns the sum of a metric's samples, 0 without any; `labels` is text that a sample's
// name must hold.
func (s *Scheduler) Metric(name, labels string) float64 {
	s.t.Helper()
	var text []byte
	Eventually(s.t, readyTimeout, "page of metrics", func() (err error) {
		text, err = s.get("/metrics")
		return err
	})
	sum, _ := metricSum(s.t, text, name, labels)
	return sum
}

// LogLines returns the whole lines of its log so far that hold all of the texts.
func (s *Scheduler) LogLines(texts ...string) []string {
	s.t.Helper()
	log, err := os.ReadFile(s.log)
	if err != nil {
		s.t.Fatal(err)
	}
	var found []string
	for line := range strings.Lines(string(log)) {
		lacks := func(text string) bool { return !strings.Contains(line, text) }
		if strings.HasSuffix(line, "\n") && !slices.ContainsFunc(texts, lacks) {
			found = append(found, strings.TrimSuffix(line, "\n"))
		}
	}
	return found
}

func (c *Cluster) schedulerConfig(name string, options SchedulerOptions) string {
	c.t.Helper()
	shipped, err := os.ReadFile("../../deploy/kube-scheduler/extender.yaml")
	if err != nil {
		c.t.Fatal(err)
	}
	var config map[string]any
	if err := yaml.Unmarshal(shipped, &config); err != nil {
		c.t.Fatal(err)
	}
	qps := max(options.ClientQPS, 200)
	config["clientConnection"] = map[string]any{
		"kubeconfig": c.clientKubeconfig("system:kube-scheduler", c.APIAddress()),
		"qps":        qps, "burst": 2 * qps,
	}
	config["leaderElection"] = map[string]any{"leaderElect": options.Elect}
	profile := config["profiles"].([]any)[0].(map[string]any)
	profile["schedulerName"] = options.Name
	if options.NoScores {
		profile["plugins"] = map[string]any{"score": map[string]any{
			"disabled": []any{map[string]any{"name": "*"}},
		}}
	}
	config["extenders"] = options.extenders(config["extenders"].([]any)[0].(map[string]any))
	text, err := yaml.Marshal(config)
	if err != nil {
		c.t.Fatal(err)
	}
	return writeFile(c.t, c.Folder, name+".yaml", text)
}

// The list of extenders, with Offcut by its shipped entry.
func (o SchedulerOptions) extenders(shipped map[string]any) []any {
	list := []any{}
	for _, extender := range o.Before {
		list = append(list, extender.entry())
	}
	if offcut := o.offcutEntry(shipped); offcut != nil {
		list = append(list, offcut)
	}
	for _, extender := range o.After {
		list = append(list, extender.entry())
	}
	return list
}

// Nil where no Offcut is asked.
func (o SchedulerOptions) offcutEntry(shipped map[string]any) map[string]any {
	address := o.Address
	if address == "" && o.Extender != nil {
		address = o.Extender.Address()
	}
	if address == "" {
		return nil
	}
	shipped["urlPrefix"] = "http://" + address + "/v1"
	shipped["nodeCacheCapable"] = !o.WholeNodes
	if o.Timeout != 0 {
		shipped["httpTimeout"] = o.Timeout.String()
	}
	maps.Copy(shipped, o.Entry)
	maps.DeleteFunc(shipped, func(_ string, value any) bool { return value == nil })
	return shipped
}

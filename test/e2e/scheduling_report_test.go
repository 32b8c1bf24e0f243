//go:build bench

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"offcut.dev/e2e/cluster"
)

type report struct {
	Kubernetes string      `json:"kubernetes"`
	Cores      int         `json:"cores"`
	Rounds     int         `json:"rounds"`
	Rows       []reportRow `json:"rows"`
}

// reportRow is one setup on one cluster. Ratios are of medians, and of the setups with the same
// bodies; 0 where there is nothing to compare.
type reportRow struct {
	Nodes         int       `json:"nodes"`
	Pods          int       `json:"pods"`
	Extender      string    `json:"extender"` // none, passing, offcut
	WholeNodes    bool      `json:"wholeNodes"`
	PodsPerSecond []float64 `json:"podsPerSecond"` // by round
	Median        float64   `json:"median"`
	ToPassing     float64   `json:"toPassing,omitempty"`
	ToNone        float64   `json:"toNone,omitempty"`
	BindConflicts int       `json:"bindConflicts"` // offcut_bind_conflicts_total
	BindErrors    int       `json:"bindErrors"`    // bindings that the API server refused
	FreedToBound  []float64 `json:"freedToBoundMs,omitempty"`
	FreedMedian   float64   `json:"freedToBoundMedianMs,omitempty"`
}

func newReport(version string) *report {
	return &report{Kubernetes: version, Cores: runtime.NumCPU(), Rounds: *rounds}
}

func (r *report) add(nodes, pods int, all []measurement, failed []cluster.AuditEvent) {
	first := len(r.Rows)
	for _, setup := range setupsOf(0) {
		row := reportRow{
			Nodes: nodes, Pods: pods, Extender: setup.extender, WholeNodes: setup.wholeNodes,
		}
		for _, one := range all {
			if one.setup == setup {
				row.take(one, failed)
			}
		}
		row.Median = middle(row.PodsPerSecond)
		row.FreedMedian = middle(row.FreedToBound)
		r.Rows = append(r.Rows, row)
	}
	added := r.Rows[first:]
	for i := range added {
		row := &added[i]
		if row.Extender == "none" {
			continue
		}
		for _, other := range added {
			if other.Extender == "none" {
				row.ToNone = row.Median / other.Median
			}
			if row.Extender == "offcut" && other.Extender == "passing" &&
				row.WholeNodes == other.WholeNodes {
				row.ToPassing = row.Median / other.Median
			}
		}
	}
}

func (r *reportRow) take(one measurement, failed []cluster.AuditEvent) {
	r.PodsPerSecond = append(r.PodsPerSecond, one.podsPerSecond)
	r.BindConflicts += one.conflicts
	for _, event := range failed {
		if event.Received.After(one.began) && event.Received.Before(one.ended) {
			r.BindErrors++
		}
	}
	for _, took := range one.freedToBound {
		r.FreedToBound = append(r.FreedToBound, float64(took)/float64(time.Millisecond))
	}
}

// The median; 0 of nothing.
func middle(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	ordered := slices.Sorted(slices.Values(values))
	half := len(ordered) / 2
	if len(ordered)%2 == 1 {
		return ordered[half]
	}
	return (ordered[half-1] + ordered[half]) / 2
}

// The table, and after it the same as JSON on one line.
func (r *report) write(t *testing.T, path string) {
	t.Helper()
	line, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(r.table()+string(line)+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (r *report) table() string {
	var text strings.Builder
	fmt.Fprintf(&text, "Kubernetes %s, %d cores, one-GPU pods, %d rounds (whole nodes: 1)\n",
		r.Kubernetes, r.Cores, r.Rounds)
	const columns = "%6s %6s  %-8s %-6s %8s %15s %10s %8s %10s %7s %9s\n"
	fmt.Fprintf(&text, columns, "nodes", "pods", "extender", "bodies", "pods/s", "(min to max)",
		"/passing", "/none", "conflicts", "errors", "freed ms")
	for _, row := range r.Rows {
		bodies := "names"
		switch {
		case row.Extender == "none":
			bodies = "-"
		case row.WholeNodes:
			bodies = "nodes"
		}
		spread := fmt.Sprintf("(%.1f to %.1f)", slices.Min(row.PodsPerSecond),
			slices.Max(row.PodsPerSecond))
		fmt.Fprintf(&text, columns, fmt.Sprint(row.Nodes), fmt.Sprint(row.Pods), row.Extender,
			bodies, fmt.Sprintf("%.1f", row.Median), spread, orDash("%.2f", row.ToPassing),
			orDash("%.2f", row.ToNone), fmt.Sprint(row.BindConflicts), fmt.Sprint(row.BindErrors),
			orDash("%.0f", row.FreedMedian))
	}
	return text.String()
}

func orDash(format string, value float64) string {
	if value == 0 {
		return "-"
	}
	return fmt.Sprintf(format, value)
}

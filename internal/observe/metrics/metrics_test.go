package metrics

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/internal/event"
	"holdpoint/internal/observe/audit"
	"holdpoint/store"
	"holdpoint/store/memory"
	"holdpoint/store/storetest"
)

var update = flag.Bool("update", false, "write the table of metrics anew")

func newMetrics() *Metrics {
	return New(Options{
		Version: "v1", Dialects: []string{"auto", "langgraph"}, Codes: []string{"PARTIAL_RESUME"},
		Agents: []string{"billing", "support"},
		Head:   func() audit.Head { return audit.Head{Seq: 7, Hash: "fffffffffffff0", FailedEvents: 2} },
	})
}

// used returns Metrics that have counted at least one event of each kind.
func used(t *testing.T) *Metrics {
	t.Helper()
	m := newMetrics()
	for _, kind := range event.Kinds() {
		m.Take(&event.Event{Agent: "billing", Kind: kind, Dialect: "langgraph", Code: "PARTIAL_RESUME", Interrupts: make([]event.Interrupt, 2)})
	}
	m.Take(&event.Event{Agent: "billing", Kind: event.Refused, Code: "whatever somebody wrote", Dialect: "x"})
	m.Take(&event.Event{Agent: "billing", Kind: event.Raised, Dialect: "whatever somebody wrote", Interrupts: make([]event.Interrupt, 1)})
	m.CountRun(&event.Run{Agent: "billing", Dialect: "langgraph", Outcome: "finished", Duration: time.Second, TimeToFirstByte: time.Millisecond, PassedFrames: 5, RewrittenFrames: 1, DroppedFrames: 2, MadeEvents: 3})
	m.CountRun(&event.Run{Agent: "billing", Outcome: "refused"})
	m.CountRun(&event.Run{Agent: "whoever", Outcome: "refused"})
	m.CountRun(&event.Run{Agent: "billing", Dialect: "whatever", Outcome: "whatever", Upstream: "whatever"})
	m.CountEviction("results")
	for _, agent := range []string{"billing", "billing", "whoever"} {
		m.RegisterOpenRuns(agent, func() int { return 3 })
	}
	s := m.MeasureStore(failing{memory.New(memory.Options{})})
	s.Load(t.Context(), "k", "")
	storetest.Do(t.Context(), s, "k", store.Ask{Pause: agui.Pause{ID: "p"}})
	storetest.Do(t.Context(), s, "k", store.Claim{PauseID: "other", Token: "t", Digest: "d", Lease: time.Minute})
	storetest.Do(t.Context(), s, "k", store.Renew{Token: "t", Lease: time.Minute})
	m.countWaiting(t.Context(), s)
	m.SetStoreUp(true)
	return m
}

// failing is a store in which every Renew fails.
type failing struct{ store.Store }

func (f failing) Do(ctx context.Context, key store.Key, step store.Step) (store.StepResult, error) {
	if _, renews := step.(store.Renew); renews {
		return store.StepResult{}, errors.New("no connection")
	}
	return f.Store.Do(ctx, key, step)
}

func text(t *testing.T, m *Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

// TestCounts: each event must be counted once. Each label must have a value of a fixed list,
// whatever a client or backend has written.
func TestCounts(t *testing.T) {
	got := text(t, used(t))
	for _, want := range []string{
		`holdpoint_runs_open{agent="billing"} 6`,
		`holdpoint_runs_open{agent="other"} 3`,
		`holdpoint_runs_total{agent="billing",dialect="langgraph",outcome="finished"} 1`,
		`holdpoint_runs_total{agent="billing",dialect="none",outcome="refused"} 1`,
		`holdpoint_runs_total{agent="billing",dialect="other",outcome="other"} 1`,
		`holdpoint_runs_total{agent="other",dialect="none",outcome="refused"} 1`,
		`holdpoint_upstream_errors_total{agent="support",class="eof"} 0`,
		`holdpoint_upstream_errors_total{agent="billing",class="other"} 1`,
		`holdpoint_upstream_errors_total{agent="billing",class="eof"} 0`,
		`holdpoint_run_duration_seconds_count{agent="billing"} 3`,
		`holdpoint_first_byte_seconds_count{agent="billing"} 1`,
		`holdpoint_frames_total{agent="billing",kind="passed"} 5`,
		`holdpoint_frames_total{agent="billing",kind="rewritten"} 1`,
		`holdpoint_frames_total{agent="billing",kind="dropped"} 2`,
		`holdpoint_frames_total{agent="billing",kind="made"} 3`,
		`holdpoint_interrupts_raised_total{agent="billing",dialect="langgraph"} 2`,
		`holdpoint_interrupts_raised_total{agent="billing",dialect="other"} 1`,
		`holdpoint_interrupts_ended_total{agent="billing",how="resolved"} 2`,
		`holdpoint_interrupts_ended_total{agent="billing",how="retired"} 2`,
		`holdpoint_resumes_total{agent="billing",result="claimed"} 1`,
		`holdpoint_resumes_total{agent="billing",result="in_doubt"} 1`,
		`holdpoint_resumes_total{agent="billing",result="refused"} 2`,
		`holdpoint_refusals_total{agent="billing",code="PARTIAL_RESUME"} 2`,
		`holdpoint_refusals_total{agent="billing",code="other"} 1`,
		`holdpoint_pauses_waiting 1`,
		`holdpoint_store_step_seconds_count{step="claim"} 1`,
		// The store refused a claim. A refusal is not a failure.
		`holdpoint_store_errors_total{step="claim"} 0`,
		`holdpoint_store_errors_total{step="renew"} 1`,
		`holdpoint_store_evictions_total{what="results"} 1`,
		`holdpoint_store_up 1`,
		`holdpoint_audit_seq 7`,
		`holdpoint_audit_head 4.503599627370495e+15`,
		`holdpoint_audit_failed_total 2`,
		`holdpoint_build_info{version="v1"} 1`,
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(got, "whatever") {
		t.Error("a label has what somebody wrote")
	}
}

// described returns the help text and the labels of Holdpoint's own metrics, by the name of the
// metric.
func described(t *testing.T) map[string][2]string {
	t.Helper()
	list := map[string][2]string{}
	families, err := used(t).Registry().Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "holdpoint_") {
			continue
		}
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, "`"+l.GetName()+"`")
		}
		list[f.GetName()] = [2]string{strings.Join(labels, ", "), f.GetHelp()}
	}
	return list
}

// TestTable: docs/operations.md must have a row for each metric of the registry.
func TestTable(t *testing.T) {
	const path, mark = "../../../docs/operations.md", "<!-- metrics -->\n"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(page), mark)
	if len(parts) != 3 {
		t.Fatalf("%s has %d marks %q, want 2", path, len(parts)-1, mark)
	}
	all := described(t)
	names := []string{}
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	table := "\n| metric | labels | |\n|---|---|---|\n"
	for _, name := range names {
		table += fmt.Sprintf("| `%s` | %s | %s |\n", name, all[name][0], all[name][1])
	}
	table += "\n"
	if *update {
		parts[1] = table
		if err := os.WriteFile(path, []byte(strings.Join(parts, mark)), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if parts[1] != table {
		t.Errorf("%s is another table: go test ./internal/observe/metrics -update", path)
	}
}

// TestEveryCodeIsCounted: agui.Codes has the values of the label "code". It must contain each code
// of docs/contract.md. The exceptions are codes of one dialect, which begin with the name of its
// framework.
func TestEveryCodeIsCounted(t *testing.T) {
	page, err := os.ReadFile("../../../docs/contract.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n## The codes\n")
	table, _, _ = strings.Cut(table, "\n## ")
	if table == "" {
		t.Fatal("docs/contract.md has no codes")
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `([A-Z_]+)` \\|").FindAllStringSubmatch(table, -1) {
		if !strings.HasPrefix(m[1], "STRANDS_") && !strings.HasPrefix(m[1], "AGENT_FRAMEWORK_") && !slices.Contains(agui.Codes(), agui.Code(m[1])) {
			t.Errorf("agui.Codes lacks %s", m[1])
		}
	}
}

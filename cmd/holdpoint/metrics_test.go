//go:build unix

package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestMetricsOfTheBinary: /metrics of the admin listener must count a question, its answer and a
// refused answer.
func TestMetricsOfTheBinary(t *testing.T) {
	upstream := httptest.NewServer(&asker{})
	defer upstream.Close()
	p := startAs(t, "HOLDPOINT_UPSTREAM="+upstream.URL, "HOLDPOINT_DIALECT=agui", "HOLDPOINT_NAME=billing", "HOLDPOINT_ADMIN_LISTEN=127.0.0.1:0", "HOLDPOINT_AUDIT=stdout")
	at := p.wait(t, "admin listener")["admin_addr"].(string)
	addr := p.wait(t, "listening")["addr"].(string)
	id := askedID.FindStringSubmatch(ask(t, addr, "r1", ""))
	ask(t, addr, "r2", fmt.Sprintf(`,"resume":[{"interruptId":%q,"status":"resolved","payload":true}]`, id[1]))
	ask(t, addr, "r3", `,"resume":[{"interruptId":"nobody","status":"resolved"}]`)
	var text string
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) { // a run is counted when it has ended, after its stream
		res, err := http.Get("http://" + at + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if text = string(b); strings.Contains(text, `holdpoint_run_duration_seconds_count{agent="billing"} 3`+"\n") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("three runs are not counted:\n%s", text)
		}
	}
	for _, want := range []string{
		`holdpoint_runs_open{agent="billing"} 0`,
		`holdpoint_runs_total{agent="billing",dialect="agui",outcome="interrupt"} 1`,
		`holdpoint_runs_total{agent="billing",dialect="agui",outcome="finished"} 1`,
		`holdpoint_runs_total{agent="billing",dialect="none",outcome="refused"} 1`,
		`holdpoint_interrupts_raised_total{agent="billing",dialect="agui"} 1`,
		`holdpoint_interrupts_ended_total{agent="billing",how="resolved"} 1`,
		`holdpoint_resumes_total{agent="billing",result="claimed"} 1`,
		`holdpoint_refusals_total{agent="billing",code="UNKNOWN_INTERRUPT_ID"} 1`,
		`holdpoint_store_step_seconds_count{step="claim"} 1`,
		`holdpoint_audit_seq 5`,
		`go_goroutines`,
	} {
		if !strings.Contains(text, "\n"+want) {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(text, id[1]) || strings.Contains(text, "nobody") {
		t.Error("a label holds an id")
	}
}

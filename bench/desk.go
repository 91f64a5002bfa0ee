package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// The measurements of a desk (the web page of approvers): what it costs runs that do not use it,
// and runs that do.
const (
	deskRuns   = 300 // ordinary runs in each round, and as many pauses with answers
	deskCycles = 20  // pauses for which the steps of the store are counted
	deskToken  = "0123456789abcdef0123456789abcdef"
	// deskLimit is the limit for the check. With a desk, a run may take at most this many times as
	// long as without.
	deskLimit = 1.25
	deskShare = 0.3 // the check does this share of the runs
)

// blockingSteps are those steps of the store for which somebody waits: a run, or a person who
// decides at the desk.
var blockingSteps = []string{"load", "snapshots", "open", "decide", "claim", "finish"}

// deskTargets starts three targets: Holdpoint without a desk, the same again to show the noise, and
// Holdpoint with a desk.
func (b *bench) deskTargets() (list []*target, err error) {
	for _, name := range []string{"holdpoint", "holdpoint again", "holdpoint desk"} {
		more := []string{"HOLDPOINT_NAME=bench", "HOLDPOINT_ADMIN_LISTEN=unix://" + b.socketOf(name, "admin")}
		if name == "holdpoint desk" {
			more = append(more, "HOLDPOINT_DESK_LISTEN=unix://"+b.socketOf(name, "desk"), "HOLDPOINT_DESK_TOKEN="+deskToken)
		}
		t, err := b.startTarget(kind{name: name, form: formRewritten, start: holdpointStarterWith(more...)})
		if err != nil {
			return list, err
		}
		list = append(list, t)
	}
	return list, nil
}

func (b *bench) socketOf(name, what string) string {
	return filepath.Join(b.dir, strings.ReplaceAll(name, " ", "-")+"."+what)
}

// desk measures ordinary runs, and pauses that are answered in the chat. It measures both with and
// without a desk, and counts the steps of the store.
func (b *bench) desk() error {
	list, err := b.deskTargets()
	for _, t := range list {
		defer b.endTarget(t)
	}
	if err != nil {
		return err
	}
	plain, cycle := map[string][]float64{}, map[string][]float64{}
	err = b.measureInRounds(b.rounds(9), list, func(t *target, counts bool) error {
		c := b.client(readBuffer)
		defer c.close()
		for to, do := range map[*map[string][]float64]func(thread string) error{
			&plain: func(thread string) error {
				_, err := c.stream(b.ctx, t, order{script: "short", thread: thread}, "", nil)
				return err
			},
			&cycle: func(thread string) error { return c.pauseAndResume(b, t, thread, "ask") },
		} {
			n := b.scaleCount(deskRuns, 1)
			cpu, err := b.cpuTimeOf(t, func() error {
				for i := range n {
					if err := do(fmt.Sprintf("desk-%d", i)); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
			if counts {
				(*to)[t.name] = append((*to)[t.name], float64(cpu.Nanoseconds())/1e3/float64(n))
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	off, on := list[0], list[2]
	b.report.title("Beside a desk: runs of %d frames, and pauses that the chat answers", 5)
	var rows [][]string
	for _, t := range list {
		state, err := b.metrics(t)
		if err != nil {
			return err
		}
		rows = append(rows, []string{t.name, spread(plain[t.name]), spread(ratios(plain[t.name], plain[off.name])), spread(cycle[t.name]), spread(ratios(cycle[t.name], cycle[off.name])), short3(state["go_goroutines"])})
	}
	b.report.table([]string{"", "CPU µs / run", "× without", "CPU µs / pause and answer", "× without", "goroutines"}, rows)
	b.report.atMost(13, median(ratios(plain[on.name], plain[off.name])), deskLimit, "desk: CPU of a plain run beside one, × without")
	return b.stepsOfDesk(off, on)
}

// stepsOfDesk counts the steps of the store for three kinds of pauses: answered in the chat without
// a desk, answered in the chat with a desk, and decided at the desk. off is the target without a
// desk, on the target with one.
func (b *bench) stepsOfDesk(off, on *target) error {
	c := b.client(readBuffer)
	defer c.close()
	inChat := func(t *target) func(string) error {
		return func(thread string) error { return c.pauseAndResume(b, t, thread, "ask") }
	}
	var rows [][]string
	counted := map[string]map[string]float64{}
	for _, one := range []struct {
		name string
		at   *target
		do   func(thread string) error
	}{
		{"the chat answers, without a desk", off, inChat(off)},
		{"the chat answers, beside a desk", on, inChat(on)},
		{"decided at the desk, carried by Holdpoint", on, func(thread string) error { return b.decideAtDesk(c, on, thread) }},
	} {
		before, err := b.metrics(one.at)
		if err != nil {
			return err
		}
		for n := range deskCycles {
			if err := one.do(fmt.Sprintf("%s-%d", strings.ReplaceAll(one.name, " ", "-"), n)); err != nil {
				return err
			}
		}
		after, err := b.metrics(one.at)
		if err != nil {
			return err
		}
		row, steps := []string{one.name}, map[string]float64{}
		for _, step := range blockingSteps {
			name := `holdpoint_store_step_seconds_count{step="` + step + `"}`
			steps[step] = (after[name] - before[name]) / deskCycles
			row = append(row, short3(steps[step]))
		}
		counted[one.name] = steps
		rows = append(rows, row)
	}
	b.report.line("\nSteps of the store for each; the loads at the desk are those of who looks and decides there.\n")
	b.report.table(append([]string{""}, blockingSteps...), rows)
	writes := func(n int) (sum float64) {
		for _, step := range []string{"open", "decide", "claim", "finish"} {
			sum += counted[rows[n][0]][step]
		}
		return sum
	}
	b.report.atMost(13, writes(1)-writes(0), 0, "desk: more writes of the store if the chat answers")
	b.report.atMost(13, writes(2)-writes(0), 1, "desk: more writes of the store for a decision there")
	return nil
}

// decideAtDesk sends a run that pauses, approves it at the desk, and waits until Holdpoint has
// carried out the decision.
func (b *bench) decideAtDesk(c *client, t *target, thread string) error {
	if _, err := c.stream(b.ctx, t, order{script: "ask", route: "cycle", thread: thread}, "", nil); err != nil {
		return err
	}
	type approval struct {
		ID, State string
		Questions []struct{ ID, Digest string }
	}
	var list struct{ Approvals []approval }
	if err := b.askDesk(t, http.MethodGet, "/v1/approvals?thread="+thread, nil, &list); err != nil {
		return err
	}
	if len(list.Approvals) != 1 {
		return fmt.Errorf("%d approvals of %s wait", len(list.Approvals), thread)
	}
	a := list.Approvals[0]
	var words []map[string]any
	for _, q := range a.Questions {
		words = append(words, map[string]any{"question": q.ID, "digest": q.Digest, "decision": "answer", "payload": map[string]bool{"approved": true}})
	}
	if err := b.askDesk(t, http.MethodPost, "/v1/approvals/"+a.ID, map[string]any{"decisions": words}, &a); err != nil {
		return err
	}
	for ends := time.Now().Add(startTime); a.State != "ended"; {
		if time.Now().After(ends) {
			return fmt.Errorf("%s is %s, and nobody carries it", thread, a.State)
		}
		time.Sleep(5 * time.Millisecond)
		if err := b.askDesk(t, http.MethodGet, "/v1/approvals/"+a.ID, nil, &a); err != nil {
			return err
		}
	}
	return nil
}

// askDesk sends a request to the desk of a target, and decodes the response into the parameter
// into.
func (b *bench) askDesk(t *target, method, path string, body, into any) error {
	var sent io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		sent = bytes.NewReader(text)
	}
	text, err := b.overSocket(b.socketOf(t.name, "desk"), method, path, sent)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// overSocket sends a request to a Unix socket and returns the body of the response.
func (b *bench) overSocket(socket, method, path string, body io.Reader) ([]byte, error) {
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", socket)
		},
	}}
	req, err := http.NewRequestWithContext(b.ctx, method, "http://holdpoint"+path, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+deskToken)
	req.Header.Set("Content-Type", "application/json")
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s: %.300s", method, path, res.Status, text)
	}
	return text, err
}

// metrics returns the metrics of a target, keyed by name and labels.
func (b *bench) metrics(t *target) (map[string]float64, error) {
	text, err := b.overSocket(b.socketOf(t.name, "admin"), http.MethodGet, "/metrics", nil)
	if err != nil {
		return nil, err
	}
	all := map[string]float64{}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), " "); ok && !strings.HasPrefix(name, "#") {
			if v, err := strconv.ParseFloat(value, 64); err == nil {
				all[name] = v
			}
		}
	}
	if len(all) == 0 {
		return nil, errors.New("no metrics")
	}
	return all, nil
}

// checkDesk returns an error if a desk costs a run more than the limits in every attempt. A cost
// may exceed its limit by chance, so checkDesk measures again.
func (b *bench) checkDesk() error {
	was := b.settings
	defer func() { b.settings = was }()
	b.settings.rounds, b.settings.scale = quickRounds, deskShare
	for n := range attempts {
		b.report.goalResults = nil
		if err := b.desk(); err != nil {
			return err
		}
		b.report.flush(b.out)
		missed := false
		for _, g := range b.report.goalResults {
			if !g.isMet() {
				missed = true
				fmt.Fprintf(b.diag, "bench: attempt %d: %s: %.2f, want at most %.2f\n", n+1, g.description, g.value, g.limit)
			}
		}
		if !missed {
			return nil
		}
	}
	return fmt.Errorf("desk: %w", errTooSlow)
}

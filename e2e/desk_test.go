//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A deskAPI is a client of the API of a Holdpoint's desk.
type deskAPI struct {
	h      *holdpoint
	at     string // the path of its socket
	client *http.Client
}

const deskToken = "0123456789abcdef0123456789abcdef"

// newDeskOf starts a Holdpoint that has a desk, in front of the backend at upstream. more has
// additional environment variables of the Holdpoint.
func newDeskOf(t *testing.T, upstream string, more ...map[string]string) *deskAPI {
	t.Helper()
	dir, err := os.MkdirTemp("", "desk") // not in the test's folder, because the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	at := filepath.Join(dir, "s")
	d := &deskAPI{at: at}
	d.h = ownHoldpoint(t, upstream, d.env(more...))
	d.client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", at)
	}}}
	return d
}

// env returns the variables that set up the desk, and those in more.
func (d *deskAPI) env(more ...map[string]string) map[string]string {
	env := map[string]string{"HOLDPOINT_DESK_LISTEN": "unix://" + d.at, "HOLDPOINT_DESK_TOKEN": deskToken}
	for _, m := range more {
		maps.Copy(env, m)
	}
	return env
}

// dies kills the Holdpoint with SIGKILL, and starts a new one with the same addresses and the same
// store.
func (d *deskAPI) dies(t *testing.T, upstream string, more ...map[string]string) {
	t.Helper()
	d.h.kill()
	d.h = restart(t, d.h, upstream, d.env(more...))
}

// call sends a request to the desk's API, and returns the decoded body of the response. If the
// status of the response is not the given one, the test fails.
func (d *deskAPI) call(t *testing.T, status int, method, path string, body any) map[string]any {
	t.Helper()
	text := ""
	if body != nil {
		sent, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		text = string(sent)
	}
	req, err := http.NewRequest(method, "http://desk"+path, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+deskToken)
	if text != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := d.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	var object map[string]any
	if err == nil {
		err = json.Unmarshal(got, &object)
	}
	if err != nil || res.StatusCode != status {
		t.Fatalf("%s %s: status %d, want %d: %v: %s", method, path, res.StatusCode, status, err, got)
	}
	return object
}

// waiting returns the only approval of the thread that is open at the desk.
func (d *deskAPI) waiting(t *testing.T, thread string) map[string]any {
	t.Helper()
	list, _ := d.call(t, http.StatusOK, "GET", "/v1/approvals?thread="+url.QueryEscape(thread), nil)["approvals"].([]any)
	if len(list) != 1 {
		t.Fatalf("%d approvals of the thread", len(list))
	}
	return list[0].(map[string]any)
}

// decide sends a decision on the n-th question of an approval.
func (d *deskAPI) decide(t *testing.T, approval map[string]any, n int, decision string, payload any) {
	t.Helper()
	q := approval["questions"].([]any)[n].(map[string]any)
	body := map[string]any{"decision": decision, "digest": q["digest"], "comment": "by hand"}
	if payload != nil {
		body["payload"] = payload
	}
	d.call(t, http.StatusOK, "POST", fmt.Sprintf("/v1/approvals/%s/questions/%s", approval["id"], url.PathEscape(q["id"].(string))), body)
}

// ended waits until the approval has ended, and returns the approval's member "end".
func (d *deskAPI) ended(t *testing.T, approval map[string]any) map[string]any {
	t.Helper()
	for until := time.Now().Add(patience); time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
		if a := d.call(t, http.StatusOK, "GET", fmt.Sprint("/v1/approvals/", approval["id"]), nil); a["state"] == "ended" {
			return a["end"].(map[string]any)
		}
	}
	t.Fatalf("it did not end: %v", d.call(t, http.StatusOK, "GET", fmt.Sprint("/v1/approvals/", approval["id"]), nil))
	return nil
}

// TestDecidedAtTheDesk: the chat's client has left, and the question is decided at the desk. The
// action must run once. The chat must get the result in each of three ways: by a reload, by a new
// message, and by an answer of its own that comes too late.
func TestDecidedAtTheDesk(t *testing.T) {
	t.Parallel()
	for _, b := range shared.backends {
		if b.name == "0.0.43-quiet" {
			continue // its questions have no ids, which makes no difference at the desk
		}
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			d := newDeskOf(t, b.url())
			for _, version := range []string{newest, pinned, oldest} {
				t.Run("client-"+version, func(t *testing.T) {
					w := world{b: b, h: d.h, version: version}
					once := map[string]int{"delete": 1}
					decided := func(t *testing.T, decision string, payload any) *client {
						c := w.paused(t, "approve", 1)
						a := d.waiting(t, c.thread)
						if a["waitsForChat"] != nil {
							t.Fatalf("it waits for the chat: %v", a["waitsForChat"])
						}
						d.decide(t, a, 0, decision, payload)
						if end := d.ended(t, a); end["how"] != "finished" {
							t.Fatalf("it ended so: %v", end)
						}
						return c
					}
					t.Run("a reload, then a message", func(t *testing.T) {
						c := decided(t, "answer", yes)
						w.did(t, c, 2, once)
						again := c.another(t)
						again.finish(t, step{empty: true})
						w.did(t, c, 2, once)
						again.goesOn(t, nil)
						w.did(t, c, 3, once)
					})
					t.Run("a message", func(t *testing.T) {
						c := decided(t, "answer", yes)
						c.asked = true
						c.goesOn(t, no)
						w.effects(t, c, once)
					})
					t.Run("the same answer", func(t *testing.T) {
						c := decided(t, "answer", yes)
						c.finish(t, c.answer(c.answers(accept), yes))
						w.did(t, c, 2, once)
					})
					t.Run("another answer", func(t *testing.T) {
						c := decided(t, "answer", yes)
						if a := c.run(t, c.answer(c.answers(reject), no)).answer(t); a.code() != "RESUME_CONFLICT" {
							t.Errorf("told %s", terminal(a))
						}
						w.did(t, c, 2, once)
					})
					t.Run("one of two, with a reason for the other", func(t *testing.T) {
						c := w.paused(t, "hitl", 2)
						a := d.waiting(t, c.thread)
						d.decide(t, a, 1, "approve", nil)
						q := a["questions"].([]any)[0].(map[string]any)
						body := map[string]any{"decision": "deny", "digest": q["digest"], "reason": "not in this house", "comment": "between us"}
						d.call(t, http.StatusOK, "POST", fmt.Sprintf("/v1/approvals/%s/questions/%s", a["id"], q["id"]), body)
						if end := d.ended(t, a); end["how"] != "finished" {
							t.Fatalf("it ended so: %v", end)
						}
						w.did(t, c, 2, map[string]int{"delete_file": 1})
						if told := text(w.b.ledger(t, c.thread).Runs); !contains(told, "not in this house") || contains(told, "between us") {
							t.Errorf("the graph was told %s", told)
						}
					})
					t.Run("denied", func(t *testing.T) {
						c := decided(t, "answer", no)
						w.did(t, c, 2, nil)
						c.another(t).goesOn(t, nil)
						w.effects(t, c, nil)
					})
				})
			}
		})
	}
}

// TestAgentsDecidedAtTheDesk checks the same as TestDecidedAtTheDesk, with Agent Framework. There
// the history must also have exactly one result for each call.
func TestAgentsDecidedAtTheDesk(t *testing.T) {
	t.Parallel()
	for _, b := range shared.agents {
		w := agentWorld(b, newest)
		if b.mode != "default" {
			continue
		}
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			d := newDeskOf(t, b.url())
			w.h = d.h
			for _, test := range []struct {
				name, agent string
				decisions   []any // the desk's answer to each question; nil: the chat answers it
				want        []string
			}{
				{"approved", "approve", []any{yes}, []string{deleteA}},
				{"denied", "approve", []any{no}, nil},
				{"both of two", "parallel", []any{yes, yes}, []string{deleteA, deleteB}},
				{"the first of two", "parallel", []any{yes, no}, []string{deleteA}},
				{"one at the desk and one in the chat", "parallel", []any{yes, nil}, []string{deleteA, deleteB}},
				{"strict", "strict", []any{yes}, []string{deleteA}},
				{"strict, denied", "strict", []any{no}, nil},
			} {
				t.Run(test.name, func(t *testing.T) {
					c := w.client(t, test.agent)
					c.asks(t, step{say: "go"}, len(test.decisions))
					a := d.waiting(t, c.thread)
					if a["waitsForChat"] != nil {
						t.Fatalf("it waits for the chat: %v", a["waitsForChat"])
					}
					chat := false
					for n, says := range test.decisions {
						if says == nil {
							chat = true
							continue
						}
						d.decide(t, a, n, "answer", says)
					}
					if chat {
						again := c.another(t)
						left := again.run(t, step{empty: true}).answer(t)
						if len(left.outcome()) != 1 {
							t.Fatalf("asked for %d things: %s", len(left.outcome()), terminal(left))
						}
						again.finish(t, again.each(t, accept))
						w.proven(t, again, test.want...)
						return
					}
					if end := d.ended(t, a); end["how"] != "finished" {
						t.Fatalf("it ended so: %v", end)
					}
					w.ran(t, c, test.want...)
					again := c.another(t)
					again.finish(t, step{empty: true})
					w.proven(t, again, test.want...)
				})
			}
		})
	}
}

// TestPartlyDecidedAtTheDesk: a graph asks two questions. One is decided at the desk and the other
// one in the chat, in every combination. The chat must be asked only the undecided question.
// Nothing may run before both are decided, and then each approved action must run once.
func TestPartlyDecidedAtTheDesk(t *testing.T) {
	tools := [2]string{"send_email", "delete_file"}
	decisions := map[bool]string{true: "approve", false: "deny"}
	for _, b := range shared.backends {
		if b.name == "0.0.43-quiet" {
			continue // its questions have no ids, which makes no difference at the desk
		}
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			d := newDeskOf(t, b.url())
			w := world{b: b, h: d.h, version: newest}
			for n := range 8 {
				at, desk, chat := n&1, n&2 != 0, n&4 != 0
				t.Run(fmt.Sprintf("%s at the desk %v, the other one in the chat %v", tools[at], desk, chat), func(t *testing.T) {
					c := w.paused(t, "hitl", 2)
					d.decide(t, d.waiting(t, c.thread), at, decisions[desk], nil)
					again := c.another(t)
					if left := again.run(t, step{empty: true}).answer(t); len(left.outcome()) != 1 || left.code() != "" {
						t.Fatalf("asked for %d things: %s", len(left.outcome()), terminal(left))
					}
					w.did(t, c, 1, nil)
					answer := reject
					if chat {
						answer = accept
					}
					again.finish(t, step{resume: again.answers(answer)})
					want := map[string]int{}
					for k, says := range map[int]bool{at: desk, 1 - at: chat} {
						if says {
							want[tools[k]] = 1
						}
					}
					w.did(t, c, 2, want)
				})
			}
		})
	}
}

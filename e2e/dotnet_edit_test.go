//go:build e2e

package e2e

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holdpoint/e2e/dotnetclient"
	"holdpoint/e2e/scripted"
)

// TestDotNetEdits: an approval can change the arguments of its call by toolCall or by editedArgs.
// With each .NET host that uses the arguments of an answer, the edited call must run once. The
// hosts of request_approval cannot use edits: both kinds must be refused there, and the question
// must stay open.
func TestDotNetEdits(t *testing.T) {
	t.Parallel()
	backends := newManyBackends(t)
	h := ownHoldpoint(t, backends.URL, nil)
	edit := func(call, name, args string) string {
		return fmt.Sprintf(`"status":"resolved","payload":{"approved":true,"toolCall":{"callId":%q,"name":%q,"arguments":%s}}`, call, name, args)
	}
	for _, host := range askingHosts() {
		for _, form := range []string{"toolCall", "editedArgs"} {
			t.Run(fmt.Sprint(host, "/", form), func(t *testing.T) {
				ledger := scripted.NewLedger()
				c := &handChat{t: t, address: h.address + backends.add(host, ledger), thread: fresh("thread"), version: "1.0"}
				if _, told := c.says("delete a.txt", onlyTools); len(c.asked) != 1 || len(c.calls) != 1 {
					t.Fatalf("it asks otherwise: %s", told)
				}
				asked, call := c.asked, c.calls[0]
				answer := edit(call, "delete_file", `{"path":"z.txt"}`)
				if form == "editedArgs" {
					answer = `"status":"resolved","payload":{"approved":true,"editedArgs":{"path":"z.txt"}}`
				}
				for _, wrong := range []string{
					edit(call, "wipe", `{"path":"a.txt"}`), edit("other", "delete_file", `{"path":"a.txt"}`),
					strings.Replace(edit(call, "delete_file", `{"path":"z.txt"}`), `"approved":true`, `"approved":true,"editedArgs":{"path":"y.txt"}`, 1),
				} {
					if _, told := c.post(entries(asked, wrong)); !strings.Contains(told, "INVALID_PAYLOAD") {
						t.Errorf("%s: %s", wrong, told)
					}
				}
				_, told := c.run(entries(asked, answer))
				want := "z.txt"
				if host.wrapping != scripted.Plain {
					if want = "a.txt"; !strings.Contains(told, "INVALID_PAYLOAD") || len(ledger.Total()) != 0 {
						t.Fatalf("the edit: %v %s", ledger.Total(), told)
					}
					_, told = c.run(entries(asked, yesEntry))
				}
				total := ledger.Total()
				if strings.Contains(told, `"RUN_ERROR"`) || len(total) != 1 {
					t.Fatalf("it ran %v: %s", total, told)
				}
				for what, times := range total {
					if !strings.Contains(what, want) || times != 1 {
						t.Errorf("it ran %v", total)
					}
				}
			})
		}
	}
}

// TestDotNetEditsOnANewThread: a program with the SDK's client keeps no thread. It edits the call
// that it approves, and sends this answer on a new thread. The edited call must run once, however
// often the answer is sent. If the client got Holdpoint's form of the question, Holdpoint finds the
// question by its id. If the client got the host's own form (HOLDPOINT_CLIENT=native), Holdpoint
// finds it by the id and the tool of the call and by the id of the user's message.
func TestDotNetEditsOnANewThread(t *testing.T) {
	t.Parallel()
	backends := newManyBackends(t)
	for _, shown := range []string{"auto", "native"} {
		h := ownHoldpoint(t, backends.URL, map[string]string{"HOLDPOINT_CLIENT": shown})
		for _, host := range askingHosts() {
			if host.wrapping != scripted.Plain {
				continue // this host supports no edits
			}
			t.Run(fmt.Sprint(shown, "/", host), func(t *testing.T) {
				ledger := scripted.NewLedger()
				at := dotnetclient.Connection{URL: h.address + backends.add(host, ledger), HTTP: http.DefaultClient}
				app := &dotnetclient.Application{
					Client:  dotnetclient.AGUIClient{Connection: at, Invoking: dotnetclient.MEAI1011},
					Options: func() *dotnetclient.Options { return &dotnetclient.Options{} },
				}
				said := dotnetclient.NewMessage("user", dotnetclient.Text{Text: "delete a.txt"})
				said.ID = randomID()
				asked := app.Send(said)
				if len(asked.Questions) != 1 || asked.Thrown != nil {
					t.Fatalf("it asks otherwise: %+v", asked)
				}
				q := asked.Questions[0]
				before := slices.Clone(app.Messages)
				answers := func(first *dotnetclient.Message, path string) dotnetclient.Run {
					app.Messages = append([]*dotnetclient.Message{first}, before[1:]...)
					call := *q.Call
					call.Arguments = json.RawMessage(fmt.Sprintf(`{"path":%q}`, path))
					return app.Send(dotnetclient.NewMessage("user", &dotnetclient.ApprovalAnswer{ID: q.ID, Approved: true, Call: &call}))
				}
				if shown == "native" { // an answer with another message id does not find the question
					other := *said
					other.ID = randomID()
					if answers(&other, "y.txt"); len(ledger.Total()) > 0 {
						t.Fatalf("another chat's edit ran: %v", ledger.Total())
					}
				}
				for n, path := range []string{"z.txt", "z.txt", "y.txt"} {
					if run := answers(said, path); n < 2 && (run.Thrown != nil || len(run.Failures) > 0) {
						t.Errorf("answer %d: %v %v", n+1, run.Thrown, run.Failures)
					}
				}
				if total := ledger.Total(); len(total) != 1 || total["delete_file z.txt"] != 1 {
					t.Errorf("it ran %v", total)
				}
			})
		}
	}
}

// TestDotNetEditsAtTheDesk: if a .NET host uses the arguments of an answer, a person at the desk
// may change the arguments of a call. The changed call must run once, and the audit log must record
// that the person changed it.
func TestDotNetEditsAtTheDesk(t *testing.T) {
	t.Parallel()
	backends := newManyBackends(t)
	audit := filepath.Join(t.TempDir(), "audit.jsonl")
	d := newDeskOf(t, backends.URL, map[string]string{"HOLDPOINT_AUDIT": "file://" + audit})
	for _, host := range askingHosts() {
		if host.wrapping != scripted.Plain {
			continue // this host supports no edits
		}
		t.Run(fmt.Sprint(host), func(t *testing.T) {
			ledger := scripted.NewLedger()
			c := &handChat{t: t, address: d.h.address + backends.add(host, ledger), thread: fresh("thread"), version: "1.0"}
			if _, told := c.says("delete a.txt", onlyTools); len(c.asked) != 1 {
				t.Fatalf("it asks otherwise: %s", told)
			}
			approval := d.waiting(t, c.thread)
			d.decide(t, approval, 0, "answer", map[string]any{"approved": true, "editedArgs": map[string]any{"path": "z.txt"}})
			d.finished(t, approval)
			if total := ledger.Total(); len(total) != 1 || total["delete_file z.txt"] != 1 {
				t.Errorf("it ran %v", total)
			}
			if got := auditSays(t, audit, c.thread); got != "approved,edited" {
				t.Errorf("the audit says %q", got)
			}
		})
	}
}

// randomID returns a random message id.
func randomID() string {
	id := make([]byte, 16)
	_, _ = rand.Read(id) // never fails
	return hex.EncodeToString(id)
}

//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAuditOfLangChainsWords: a client answers in the form of LangChain's middleware. The audit log
// must record an approval or a denial of each call, and must mark edited arguments.
func TestAuditOfLangChainsWords(t *testing.T) {
	t.Parallel()
	approve, reject := map[string]any{"type": "approve"}, map[string]any{"type": "reject", "message": "no"}
	edit := map[string]any{"type": "edit", "edited_action": map[string]any{"name": "send_email", "args": map[string]any{"to": "eve@example.org", "body": "hi"}}}
	one := func(decision any) map[string]any { return map[string]any{"decisions": []any{decision}} }
	for _, b := range shared.backends {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			audit := filepath.Join(t.TempDir(), "audit.jsonl")
			w := world{b: b, h: ownHoldpoint(t, b.url(), map[string]string{"HOLDPOINT_AUDIT": "file://" + audit}), version: newest}
			// the oldest client answers with command.resume
			old := world{b: b, h: w.h, version: oldest}
			for name, test := range map[string]struct {
				old   bool
				graph string
				open  int
				step  func(c *client) step
				want  string
			}{
				"both approved, the whole": {true, "hitl", 2, func(*client) step { return step{command: map[string]any{"decisions": []any{approve, approve}}} }, "approved approved"},
				"one of them, the whole":   {true, "hitl", 2, func(*client) step { return step{command: map[string]any{"decisions": []any{reject, approve}}} }, "denied approved"},
				"each by itself": {false, "hitl", 2, func(c *client) step {
					next := []any{one(approve), one(reject)}
					return step{resume: c.answers(func(id string) entry { said := next[0]; next = next[1:]; return resolved(id, said) })}
				}, "approved denied"},
				"edited":            {true, "hitl", 2, func(*client) step { return step{command: map[string]any{"decisions": []any{edit, reject}}} }, "approved,edited denied"},
				"a plain interrupt": {false, "approve", 1, func(c *client) step { return step{resume: c.answers(accept)} }, "approved"},
			} {
				t.Run(name, func(t *testing.T) {
					asks := w
					if test.old {
						asks = old
					}
					c := asks.paused(t, test.graph, test.open)
					c.finish(t, test.step(c))
					if got := auditSays(t, audit, c.thread); got != test.want {
						t.Errorf("the audit says %q, want %q", got, test.want)
					}
				})
			}
		})
	}
}

// auditSays returns the decisions of a thread's claimed answers, as recorded in the audit file. If
// a recorded answer has no decision, auditSays returns its status instead.
func auditSays(t *testing.T, audit, thread string) string {
	t.Helper()
	text, err := os.ReadFile(audit)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(text)) {
		var l struct {
			Event, Thread string
			Interrupts    []struct {
				Status, Says string
				Edited       bool
			}
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		if l.Event != "resume.claimed" || l.Thread != thread {
			continue
		}
		for _, i := range l.Interrupts {
			says := i.Says
			if says == "" {
				says = i.Status
			}
			if i.Edited {
				says += ",edited"
			}
			got = append(got, says)
		}
	}
	return strings.Join(got, " ")
}

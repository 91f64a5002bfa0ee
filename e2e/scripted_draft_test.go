//go:build e2e

package e2e

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"holdpoint/e2e/scripted"
)

func TestDraft(t *testing.T) {
	t.Parallel()
	scenes(t, drafts(), func(t *testing.T, s scene) {
		s.asks(t, "approve E-1", "E-1")
		i, listed := s.pending[0], strings.HasPrefix(s.p.name, "draft-v1.5")
		reason := "human_approval"
		switch name := s.p.name; {
		case name == "draft-v1-function":
			reason = "confirmation" // a client without the call must not get tool_call
		case name == "draft-v1-function-calls":
			reason = "tool_call"
		case strings.HasSuffix(name, "no-id"):
			reason = "input_required"
		}
		if i.str("reason") != reason || listed && i.str("message") != "Approve E-1?" {
			t.Errorf("interrupt %v, want reason %s", i, reason)
		}
		if schema := strings.Contains(indented(i["responseSchema"]), "approved"); schema != strings.Contains(s.p.name, "function") {
			t.Errorf("interrupt %v", i)
		}
		s.executed(t)
		s.ends(t, step{resume: s.answers(accept)}, "Done: E-1 approved")
		s.ends(t, step{say: "plain and later"}, "echo: plain and later")
		s.executed(t, "E-1")
		s.runs(t, 3)
	})
}

// TestDraftPlainEnd: some servers of the draft send an outcome that is a string, which clients
// cannot read. Holdpoint must correct this outcome, even in a run without a pause.
func TestDraftPlainEnd(t *testing.T) {
	t.Parallel()
	scenes(t, drafts(), func(t *testing.T, s scene) {
		a := s.ends(t, step{say: "plain and first"}, "echo: plain and first")
		end := a.of("RUN_FINISHED")[0]
		told, _ := end["outcome"].(map[string]any)
		if silent := strings.Contains(s.p.name, "no-outcome") || s.p.name == "draft-v1-function-calls"; silent && end["outcome"] != nil || !silent && (told["type"] != "success" || end["result"] == nil) {
			t.Errorf("RUN_FINISHED %v", end)
		}
	})
}

func TestDraftDenied(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(string) entry{"denied": reject, "cancelled": cancelled} {
		t.Run(name, func(t *testing.T) {
			scenes(t, drafts(), func(t *testing.T, s scene) {
				s.asks(t, "approve E-1", "E-1")
				want := "Done: E-1 not approved"
				if name == "cancelled" && strings.HasPrefix(s.p.name, "draft-v1.5") {
					want = "Done: cancelled"
				}
				s.ends(t, step{resume: s.answers(answer)}, want)
				s.ends(t, step{say: "plain and later"}, "echo: plain and later")
				s.executed(t)
			})
		})
	}
}

func TestDraftAgainAndAgain(t *testing.T) {
	t.Parallel()
	scenes(t, drafts(), func(t *testing.T, s scene) {
		s.asks(t, "chain 3 E", "E.1")
		s.resumes(t, accept, "E.2")
		s.resumes(t, reject, "E.3")
		s.ends(t, step{resume: s.answers(accept)}, "Done: E.3 approved")
		s.ends(t, step{say: "plain and later"}, "echo: plain and later")
		s.executed(t, "E.1", "E.3")
	})
}

func TestDraftsAtOnce(t *testing.T) {
	t.Parallel()
	list := slices.DeleteFunc(drafts(), func(a actor) bool { return !a.two })
	for name, test := range map[string]struct {
		answers  [2]func(string) entry
		executed []string
	}{
		"both":       {[2]func(string) entry{accept, accept}, []string{"E-1", "E-2"}},
		"the first":  {[2]func(string) entry{accept, reject}, []string{"E-1"}},
		"the second": {[2]func(string) entry{cancelled, accept}, []string{"E-2"}},
		"neither":    {[2]func(string) entry{reject, cancelled}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			scenes(t, list, func(t *testing.T, s scene) {
				s.asks(t, "approve E-1 E-2", "E-1", "E-2")
				s.refused(t, step{resume: []entry{accept(s.pending[1].str("id"))}, empty: true}, "PARTIAL_RESUME", true)
				s.executed(t)
				answers := []entry{test.answers[0](s.pending[0].str("id")), test.answers[1](s.pending[1].str("id"))}
				slices.Reverse(answers)
				s.finish(t, step{resume: answers})
				s.ends(t, step{say: "plain and later"}, "echo: plain and later")
				s.executed(t, test.executed...)
			})
		})
	}
}

// TestDraftsAtOnceWithoutIDs: the questions have no ids, so the backend cannot match answers to
// questions. Equal answers are sent as one answer. Different answers are refused.
func TestDraftsAtOnceWithoutIDs(t *testing.T) {
	t.Parallel()
	list := slices.DeleteFunc(drafts(), func(a actor) bool { return a.name != "draft-v1.5-no-id" })
	scenes(t, list, func(t *testing.T, s scene) {
		s.asks(t, "approve E-1 E-2", "E-1", "E-2")
		mixed := []entry{accept(s.pending[0].str("id")), reject(s.pending[1].str("id"))}
		s.refused(t, step{resume: mixed, empty: true}, "INVALID_PAYLOAD", true)
		s.executed(t)
		s.finish(t, step{resume: s.answers(accept)})
		s.executed(t, "E-1", "E-2")
	})
}

// TestDraftAsksForWords: a question for free input accepts any payload, and the backend gets it
// unchanged.
func TestDraftAsksForWords(t *testing.T) {
	t.Parallel()
	prompts := []actor{{name: "draft-v1-prompt", make: scripted.Draft{Payload: scripted.Prompt, NoReason: true}.New}}
	scenes(t, prompts, func(t *testing.T, s scene) {
		s.asks(t, "approve E-1", "E-1")
		i := s.pending[0]
		if i.str("reason") != "input_required" || i.str("message") != "Please provide your email address" || i["toolCallId"] != nil {
			t.Errorf("interrupt %v", i)
		}
		s.finish(t, step{resume: s.answers(func(id string) entry { return resolved(id, map[string]any{"response": "a@example.org"}) })})
		s.executed(t, `answer {"response":"a@example.org"}`)
		other := scene{newClient(t, shared.through, s.version, s.url, fresh("thread"), nil), s.p}
		other.asks(t, "approve E-1", "E-1")
		other.finish(t, step{resume: other.answers(cancelled)})
		other.executed(t)
	})
}

func TestDraftBackendFails(t *testing.T) {
	t.Parallel()
	scenes(t, drafts(), func(t *testing.T, s scene) {
		a := s.run(t, step{say: "fail"}).answer(t)
		if a.code() == "" || a.outcome() != nil || len(a.of("TEXT_MESSAGE_CONTENT")) == 0 {
			t.Errorf("a failed run was told as %s", terminal(a))
		}
		s.ends(t, step{say: "plain and later"}, "echo: plain and later")
	})
}

// TestDraftBackendRestarted: the restarted program has lost its question and reports this. Nothing
// may run, and the thread must continue.
func TestDraftBackendRestarted(t *testing.T) {
	t.Parallel()
	for _, a := range drafts() {
		if a.calls {
			// the client's history keeps the call without a result, and a provider refuses such a
			// history
			continue
		}
		a.fails = "no interrupt is open"
		// its own actor, because restarting it would lose the questions of other tests
		a.name += "-restarted"
		scenes(t, []actor{a}, func(t *testing.T, s scene) {
			s.asks(t, "approve E-1", "E-1")
			lost := s.p.make(s.p.Ledger)
			s.p.program.Store(lost)
			r := s.run(t, step{resume: s.answers(accept)})
			if w := r.answer(t); w.code() == "" || w.outcome() != nil {
				t.Errorf("the answer to a question that nobody knows: %s", terminal(w))
			}
			s.executed(t)
			s.goesOn(t, nil)
			s.executed(t)
		})
	}
}

// TestDraftNamed: a server refuses unknown keys, and the client declares a protocol version. With
// the dialect configured, already the first run must work.
func TestDraftNamed(t *testing.T) {
	t.Parallel()
	list := slices.DeleteFunc(drafts(), func(a actor) bool { return !a.strict })
	h := ownHoldpoint(t, theStage().url, map[string]string{"HOLDPOINT_DIALECT": "draft"})
	for _, a := range list {
		t.Run(a.name, func(t *testing.T) {
			s := newScene(t, theStage().play(a), newest, h)
			s.ends(t, step{say: "plain and first"}, "echo: plain and first")
			s.asks(t, "approve E-1", "E-1")
			s.ends(t, step{resume: s.answers(accept)}, "Done: E-1 approved")
			if got := s.p.Executed(s.thread); !maps.Equal(got, map[string]int{"E-1": 1}) {
				t.Errorf("executed %v", got)
			}
		})
	}
}

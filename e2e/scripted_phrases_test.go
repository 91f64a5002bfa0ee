//go:build e2e

package e2e

import (
	"strings"
	"sync"
	"testing"

	"holdpoint/e2e/scripted"
)

// talkers returns the backends that ask only by a text message.
func talkers() []actor {
	return []actor{
		{name: "talker", make: scripted.Talker{}.New},
		{name: "talker-keeps", make: scripted.Talker{Keeps: true}.New},
	}
}

// listening returns a Holdpoint that recognizes questions in text by the default phrases. No
// dialect is configured.
var listening = sync.OnceValues(func() (*holdpoint, error) {
	return startHoldpoint("phrases", theStage().url, map[string]string{"HOLDPOINT_PHRASES_ASK": "default"})
})

const (
	saysYes = "Yes, please proceed."
	saysNo  = "No. Do not do it."
)

// talks runs test for each talker and each client version that reads interrupts.
func talks(t *testing.T, test func(t *testing.T, s scene)) {
	t.Helper()
	h := must(listening())
	for _, a := range talkers() {
		p := theStage().play(a)
		for _, version := range []string{newest, pinned} {
			t.Run(a.name+"/client-"+version, func(t *testing.T) {
				t.Parallel()
				s := newScene(t, p, version, h)
				defer s.sound(t)
				test(t, s)
			})
		}
	}
}

func TestPhrases(t *testing.T) {
	t.Parallel()
	talks(t, func(t *testing.T, s scene) {
		s.ends(t, step{say: "plain and first"}, "echo: plain and first")
		s.asks(t, "approve E-1", "E-1")
		i := s.pending[0]
		if i.str("reason") != "confirmation" || i.str("message") != "I am about to approve E-1. Shall I proceed?" || !strings.Contains(indented(i["responseSchema"]), "approved") {
			t.Errorf("interrupt %v", i)
		}
		s.executed(t)
		s.ends(t, step{resume: s.answers(accept)}, "Done: E-1 approved")
		s.ends(t, step{say: "plain and later"}, "echo: plain and later")
		s.executed(t, "E-1")
		s.says(t, "user: plain and first", "assistant: echo: plain and first", "user: approve E-1", "assistant: I am about to approve E-1. Shall I proceed?",
			"user: "+saysYes, "assistant: Done: E-1 approved", "user: plain and later", "assistant: echo: plain and later")
	})
}

func TestPhrasesDenied(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(string) entry{"denied": reject, "cancelled": cancelled} {
		t.Run(name, func(t *testing.T) {
			talks(t, func(t *testing.T, s scene) {
				s.asks(t, "approve E-1", "E-1")
				s.ends(t, step{resume: s.answers(answer)}, "Done: E-1 not approved")
				s.ends(t, step{say: "plain and later"}, "echo: plain and later")
				s.executed(t)
				s.says(t, "user: approve E-1", "assistant: I am about to approve E-1. Shall I proceed?", "user: "+saysNo, "assistant: Done: E-1 not approved",
					"user: plain and later", "assistant: echo: plain and later")
			})
		})
	}
}

// TestPhrasesTyped: a request has an answer and a text that the person typed. The text must not
// count as the answer, and must not change the answer.
func TestPhrasesTyped(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		typed    string
		answer   func(string) entry
		executed []string
	}{
		"yes, and the button no":  {"yes", reject, nil},
		"yes, and a cancel":       {"yes", cancelled, nil},
		"no, and the button yes":  {"no", accept, []string{"E-1"}},
		"else, and the button no": {"plain words", reject, nil},
	} {
		t.Run(name, func(t *testing.T) {
			talks(t, func(t *testing.T, s scene) {
				s.asks(t, "approve E-1", "E-1")
				s.refused(t, step{say: test.typed, empty: true}, "PENDING_INTERRUPTS", true)
				s.runs(t, 1)
				s.ends(t, step{resume: s.answers(test.answer)}, "echo: "+test.typed)
				s.executed(t, test.executed...)
				s.goesOn(t, nil)
				s.executed(t, test.executed...)
				history := indented(s.messages)
				if !strings.Contains(history, saysYes) && !strings.Contains(history, saysNo) {
					t.Errorf("the answer is not in the client's history: %s", history)
				}
			})
		})
	}
}

func TestPhrasesAgainAndAgain(t *testing.T) {
	t.Parallel()
	talks(t, func(t *testing.T, s scene) {
		s.asks(t, "chain 3 E", "E.1")
		s.resumes(t, accept, "E.2")
		s.resumes(t, accept, "E.3")
		s.ends(t, step{resume: s.answers(reject)}, "Done: E.3 not approved")
		s.ends(t, step{say: "plain and later"}, "echo: plain and later")
		s.executed(t, "E.1", "E.2")
	})
}

func TestPhrasesReplay(t *testing.T) {
	t.Parallel()
	talks(t, func(t *testing.T, s scene) {
		s.asks(t, "approve E-1", "E-1")
		answers := s.answers(accept)
		s.finish(t, step{resume: answers})
		s.finish(t, step{resume: answers, empty: true})
		s.refused(t, step{resume: []entry{reject(answers[0].ID)}, empty: true}, "RESUME_CONFLICT", false)
		// A new client, whose history ends with the person's "yes", starts a run, as if to get the
		// reply again. This run must be refused.
		cut := newClient(t, shared.through, s.version, s.url, s.thread, s.messages[:3])
		cut.refused(t, step{}, "UNKNOWN_INTERRUPT_ID", false)
		s.executed(t, "E-1")
		s.runs(t, 2)
		s.goesOn(t, nil)
	})
}

// TestPhrasesInOrdinaryChat: an ordinary message that contains a phrase becomes a question too.
// After a cancel the chat must continue.
func TestPhrasesInOrdinaryChat(t *testing.T) {
	t.Parallel()
	talks(t, func(t *testing.T, s scene) {
		s.asks(t, "offer E-1", "E-1")
		s.ends(t, step{resume: s.answers(cancelled)}, "echo: "+saysNo)
		s.goesOn(t, nil)
		a := s.run(t, step{say: "fail"}).answer(t)
		if a.code() != "kaput" || a.outcome() != nil {
			t.Errorf("a failed run was told as %s", terminal(a))
		}
		s.goesOn(t, nil)
		s.executed(t)
	})
}

// TestPhrasesOldClient: a client that does not read interrupts gets the CUSTOM event on_interrupt,
// and answers in forwardedProps.command.resume.
func TestPhrasesOldClient(t *testing.T) {
	t.Parallel()
	h := must(listening())
	for _, a := range talkers() {
		for _, answer := range []any{yes, no} {
			s := newScene(t, theStage().play(a), oldest, h)
			if told := s.run(t, step{say: "approve E-1"}).answer(t); len(told.customs()) != 1 {
				t.Fatalf("told %s", terminal(told))
			}
			s.finish(t, step{command: answer})
			if approved, ok := answer.(map[string]any)["approved"].(bool); ok && approved {
				s.executed(t, "E-1")
			} else {
				s.executed(t)
			}
			s.ends(t, step{say: "plain and later"}, "echo: plain and later")
		}
	}
}

// TestPhrasesOff: without HOLDPOINT_PHRASES_ASK, a question in a text message is ordinary chat, and
// so is the person's reply.
func TestPhrasesOff(t *testing.T) {
	t.Parallel()
	h := must(before())
	for _, a := range talkers() {
		s := newScene(t, theStage().play(a), newest, h)
		s.ends(t, step{say: "approve E-1"}, "I am about to approve E-1. Shall I proceed?")
		s.ends(t, step{say: "yes"}, "Done: E-1 approved")
		s.executed(t, "E-1")
	}
}

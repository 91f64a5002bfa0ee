package contract

import (
	"slices"
	"strings"
	"testing"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

// decidedAs returns the answer as a decision that was made at the desk (the web page of approvers).
func decidedAs(a agui.Answer) agui.Decision {
	return agui.Decision{Question: a.ID, Status: a.Status, Payload: a.Payload, OwnForm: a.OwnForm, Digest: DigestOf(a), Door: "desk"}
}

// TestDecisionsAtAnotherDoor: a pause has the questions x and y, and some of them were decided at
// the desk. The test checks how Judge then rules on requests of the chat.
func TestDecisionsAtAnotherDoor(t *testing.T) {
	past := `,"expiresAt":"` + testNow.Add(-time.Minute).Format(time.RFC3339) + `"`
	yesX, noX, yesY, cancelY := resolved("x", `{"approved":true}`), resolved("x", `{"approved":false}`), resolved("y", "1"), cancelled("y")
	open := func(more string, decided ...agui.Answer) store.Record {
		rec := store.Record{Now: testNow, State: store.Open, Pause: testPause(interrupt("x", more), interrupt("y", more))}
		for _, a := range decided {
			rec.Pause.Decisions = append(rec.Pause.Decisions, decidedAs(a))
		}
		return rec
	}
	claimed := func(decided ...agui.Answer) store.Record {
		rec := open("", decided...)
		rec.State, rec.Digest = store.Claimed, Digest([]agui.Answer{yesX, yesY})
		return rec
	}
	ended := func(how store.EndKind, decided ...agui.Answer) store.Record {
		rec := open("", decided...)
		return store.Record{Now: testNow, Results: []*store.Result{{
			PauseID: rec.Pause.ID, IDs: []string{"x", "y"}, Digest: Digest([]agui.Answer{yesX, yesY}), EndKind: how,
			Finish: []byte(endedWell), Pause: rec.Pause, SeenMessages: append(slices.Clone(rec.Pause.SeenMessages), agui.SeenMessage{ID: "a2"}),
		}}}
	}
	unseen := ended(store.Finished, yesX, yesY)
	unseen.Results[0].EndUnseen = true
	const caught = `{"id":"a2","role":"assistant","content":"done"}`
	said := func(a agui.Answer) agui.Answer {
		a.Message = agui.SeenMessage{ID: "r1"}
		return a
	}
	const reply = `{"id":"r1","role":"tool","toolCallId":"c","content":"no"}`
	reload, more := []string{oldUser, assistant}, []string{oldUser, assistant, newUser}
	for _, c := range []struct {
		name     string
		record   store.Record
		answers  []agui.Answer
		resume   bool
		messages []string
		carry    bool
		do       Act
		code     agui.Code
		reask    bool
		want     []agui.Answer // the answers of the ruling, if it is Resume
		missed   bool          // the ruling has MissedEnd
		says     string        // text that the refusal must contain
	}{
		{name: "all is decided: a message says otherwise", record: open("", yesX, yesY), answers: []agui.Answer{said(noX)},
			messages: []string{oldUser, assistant, reply}, do: Refuse, code: agui.ResumeConflict, reask: true, says: "answered differently"},
		{name: "all is decided: a message says otherwise, and stands before a new one", record: open("", yesX, yesY), answers: []agui.Answer{said(noX)},
			messages: []string{oldUser, assistant, reply, newUser}, do: Resume, want: []agui.Answer{yesX, yesY}},
		{name: "a part is decided: a reload is told the rest", record: open("", yesX), messages: reload, do: TellAgain},
		{name: "a part is decided: a new message is refused", record: open("", yesX), messages: more, do: Refuse, code: agui.PendingInterrupts, reask: true, says: `"y" is open: answer it with resume before sending new input (1 open)`},
		{name: "a part is decided: an empty resume answers nothing", record: open("", yesX), resume: true, do: Refuse, code: agui.PartialResume, reask: true, says: `"y" open (answered 1 of 2)`},
		{name: "the rest is answered", record: open("", yesX), answers: []agui.Answer{yesY}, do: Resume, want: []agui.Answer{yesX, yesY}},
		{name: "the rest is cancelled", record: open("", yesX), answers: []agui.Answer{cancelY}, do: Resume, want: []agui.Answer{yesX, cancelY}},
		{name: "all is answered, and what is decided the same", record: open("", yesX), answers: []agui.Answer{yesY, yesX}, do: Resume, want: []agui.Answer{yesX, yesY}},
		{name: "what is decided is answered otherwise", record: open("", yesX), answers: []agui.Answer{yesY, noX}, do: Refuse, code: agui.ResumeConflict, reask: true, says: "outside of this chat (desk)"},
		{name: "only what is decided is answered, the same", record: open("", yesX), answers: []agui.Answer{yesX}, do: Refuse, code: agui.PartialResume, reask: true, says: `"y" open (answered 1 of 2)`},
		{name: "a cancel of what is approved comes too late", record: open("", yesX), answers: []agui.Answer{cancelled("x"), cancelY}, do: Refuse, code: agui.ResumeConflict, reask: true},

		{name: "what expired after it was decided stands, and the rest can be cancelled", record: open(past, yesX), answers: []agui.Answer{cancelY}, do: Resume, want: []agui.Answer{yesX, cancelY}},
		{name: "the rest has expired: it cannot be approved", record: open(past, yesX), answers: []agui.Answer{yesY}, do: Refuse, code: agui.InterruptExpired, reask: true},
		{name: "the rest has expired: a new message cancels it", record: open(past, yesX), messages: more, do: Resume, want: []agui.Answer{yesX, cancelY}},

		{name: "all is decided: a reload carries it", record: open("", yesX, yesY), messages: reload, do: Resume, want: []agui.Answer{yesX, yesY}},
		{name: "all is decided: so does a new message", record: open("", yesY, yesX), messages: more, do: Resume, want: []agui.Answer{yesX, yesY}},
		{name: "all is decided: so does an empty resume", record: open("", yesY, yesX), resume: true, do: Resume, want: []agui.Answer{yesX, yesY}},
		{name: "all is decided: so does a part of the same", record: open("", yesX, yesY), answers: []agui.Answer{yesX}, do: Resume, want: []agui.Answer{yesX, yesY}},
		{name: "all is decided: another answer does not", record: open("", yesX, yesY), answers: []agui.Answer{noX}, do: Refuse, code: agui.ResumeConflict, reask: true},
		{name: "all is decided and has expired since: it stands", record: open(past, yesX, yesY), messages: reload, do: Resume, want: []agui.Answer{yesX, yesY}},
		{name: "all is cancelled", record: open("", cancelled("x"), cancelY), messages: more, do: Resume, want: []agui.Answer{cancelled("x"), cancelY}},
		{name: "a request of Holdpoint's own carries it", record: open("", yesX, yesY), carry: true, do: Resume, want: []agui.Answer{yesX, yesY}},
		{name: "a request of Holdpoint's own carries no part", record: open("", yesX), carry: true, do: EmptyRun},

		{name: "while it is carried a reload waits", record: claimed(yesX, yesY), messages: reload, do: Wait},
		{name: "while it is carried a new message waits", record: claimed(yesX, yesY), messages: more, do: Wait},
		{name: "while it is carried a part of the same waits", record: claimed(yesX, yesY), answers: []agui.Answer{yesY}, do: Wait},
		{name: "while it is carried other answers conflict", record: claimed(yesX, yesY), answers: []agui.Answer{yesX, cancelY}, do: Refuse, code: agui.ResumeConflict},
		{name: "while it is carried nothing else of Holdpoint's own does", record: claimed(yesX, yesY), carry: true, do: EmptyRun},
		{name: "while a chat carries it with what was decided a reload is refused", record: claimed(yesX), messages: reload, do: Refuse, code: agui.ResumeInProgress},
		{name: "while a chat carries it the rest of the same waits", record: claimed(yesX), answers: []agui.Answer{yesY}, do: Wait},

		{name: "the same is replayed", record: ended(store.Finished, yesX, yesY), answers: []agui.Answer{yesX, yesY}, messages: reload, do: Replay},
		{name: "a part of the same is replayed", record: ended(store.Finished, yesX, yesY), answers: []agui.Answer{yesY}, messages: reload, do: Replay},
		{name: "a part of the same is replayed where a part was decided", record: ended(store.Finished, yesX), answers: []agui.Answer{yesY}, messages: reload, do: Replay},
		{name: "without a decision a part is not the same", record: ended(store.Finished), answers: []agui.Answer{yesY}, messages: reload, do: Refuse, code: agui.ResumeConflict},
		{name: "a reload that has missed the end is told it", record: unseen, messages: reload, do: Replay},
		{name: "one without messages is an ordinary run: it has no old history", record: unseen, do: Pass},
		{name: "one that holds a message of it is an ordinary run", record: unseen, messages: append(slices.Clone(reload), caught), do: Pass},
		{name: "so is one of a chat that saw it", record: ended(store.Finished, yesX, yesY), messages: reload, do: Pass},
		{name: "a new message of a chat that has missed the end", record: unseen, messages: more, do: Pass, missed: true},
		{name: "a new message beside an old card's cancel", record: unseen, answers: []agui.Answer{cancelled("x"), cancelY}, messages: more, do: Pass, missed: true},
		{name: "a new message of somebody who knows the thread's id alone", record: unseen, messages: []string{newUser}, do: Pass},
		{name: "a renamed message of the assistant is none of it", record: unseen, messages: []string{oldUser, `{"id":"zz","role":"assistant","content":"?"}`}, do: Replay},
		{name: "another answer afterwards conflicts", record: ended(store.Finished, yesX, yesY), answers: []agui.Answer{yesX, cancelY}, messages: reload, do: Refuse, code: agui.ResumeConflict},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := Case{
				Input:   agui.RunInput{HasResume: c.resume || len(c.answers) > 0, Messages: messages(c.messages...)},
				Answers: c.answers, Record: c.record, Valid: validate,
			}
			if c.carry {
				q.Carry = c.record.Pause.ID
			}
			r := Judge(&q)
			if r.Do != c.do || r.AsksAgain != c.reask {
				t.Fatalf("act %d, reask %v, want %d, %v (%v)", r.Do, r.AsksAgain, c.do, c.reask, r.Refusal)
			}
			if r.Refusal != nil && (r.Refusal.Code != c.code || !strings.Contains(r.Refusal.Message, c.says)) {
				t.Errorf("refused: %v, want %s: %s", r.Refusal, c.code, c.says)
			}
			if (r.MissedEnd != nil) != c.missed {
				t.Errorf("missed: %v", r.MissedEnd)
			}
			if c.do != Resume {
				return
			}
			if Digest(r.Answers) != Digest(c.want) || !slices.EqualFunc(r.Answers, c.want, func(a, b agui.Answer) bool { return a.ID == b.ID }) {
				t.Errorf("answers %+v, want %+v", r.Answers, c.want)
			}
			if brings := len(c.messages) > 2; (len(r.NewMessages) > 0) != brings {
				t.Errorf("new: %d messages", len(r.NewMessages))
			}
		})
	}
}

// TestEditsThatAreNotOffered checks that a decision with edited arguments is accepted only if the
// question offers edits. This holds in the chat and at the desk. A schema may have one form for an
// approval and another for a denial; then the form of the approval must offer the edits.
func TestEditsThatAreNotOffered(t *testing.T) {
	const (
		asks = `,"responseSchema":{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]}`
		yes  = `{"type":"object","properties":{"approved":{"const":true}},"required":["approved"]}`
		no   = `{"type":"object","properties":{"approved":{"const":false}},"required":["approved"]}`
		edit = `"editedArgs":{"type":"object"}`
	)
	offers := strings.Replace(asks, `"boolean"}}`, `"boolean"},`+edit+`}`, 1)
	with := func(form string) string { return strings.Replace(form, `{"approved"`, `{`+edit+`,"approved"`, 1) }
	forms := func(key string, list ...string) string {
		return `,"responseSchema":{"` + key + `":[` + strings.Join(list, ",") + `]}`
	}
	for _, tt := range []struct {
		schema, payload string
		refused         bool
	}{
		{asks, `{"approved":true,"editedArgs":{"amount":10}}`, true},
		{asks, `{"approved":true,"edited\u0041rgs":{"amount":10}}`, true},
		{asks, `{"approved":true,"edited_args":{"amount":10}}`, true},
		{asks, `{"approved":true,"accepted":false,"editedArgs":{"amount":10}}`, true},
		{asks, `{"approved":false,"editedArgs":{"amount":10}}`, false},
		{asks, `{"approved":true,"editedArgs":null}`, false},
		{offers, `{"approved":true,"editedArgs":{"amount":10}}`, false},
		{"", `{"approved":true,"editedArgs":{"amount":10}}`, false},
		{forms("oneOf", yes, no), `{"approved":true,"editedArgs":{"amount":10}}`, true},
		{forms("oneOf", no, yes), `{"approved":true,"edited_args":{"amount":10}}`, true},
		{forms("anyOf", yes, no), `{"approved":true,"editedArgs":{"amount":10}}`, true},
		{forms("oneOf", yes, no), `{"approved":false,"editedArgs":{"amount":10}}`, false},
		{forms("oneOf", yes, with(no)), `{"approved":true,"editedArgs":{"amount":10}}`, true},
		{forms("oneOf", with(yes), no), `{"approved":true,"editedArgs":{"amount":10}}`, false},
		{forms("anyOf", with(yes), yes, no), `{"approved":true,"editedArgs":{"amount":10}}`, false},
		{forms("allOf", `{"properties":{"approved":{"type":"boolean"}}}`, `{"properties":{`+edit+`}}`), `{"approved":true,"editedArgs":{"amount":10}}`, false},
	} {
		p := testPause(interrupt("x", tt.schema))
		c := Case{
			Answers: []agui.Answer{resolved("x", tt.payload)}, Valid: validate,
			Record: store.Record{Now: testNow, State: store.Open, Pause: p},
		}
		if got := JudgeDecisions(&c); (got != nil) != tt.refused || got != nil && got.Code != agui.InvalidPayload {
			t.Errorf("%s under %q: %v", tt.payload, tt.schema, got)
		}
		if r := Judge(&c); (r.Do == Refuse) != tt.refused || tt.refused && (r.Refusal.Code != agui.InvalidPayload || !r.AsksAgain) {
			t.Errorf("%s under %q in the chat: %+v", tt.payload, tt.schema, r)
		}
	}
}

package contract

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

var testNow = time.Date(2026, 9, 1, 10, 0, 0, 0, time.UTC)

func interrupt(id, extra string) agui.Interrupt {
	return agui.Interrupt{ID: id, Native: id, Object: json.RawMessage(`{"id":"` + id + `","reason":"confirmation"` + extra + `}`)}
}

func testPause(list ...agui.Interrupt) *agui.Pause {
	p := &agui.Pause{ID: "pause-" + list[0].ID, Dialect: "agui", Interrupts: list}
	for _, m := range messages(oldUser, assistant) {
		p.SeenMessages = append(p.SeenMessages, agui.NewSeenMessage(m))
	}
	return p
}

func messages(list ...string) []agui.Message {
	var out []agui.Message
	for _, m := range list {
		out = append(out, agui.ParseMessage([]byte(m)))
	}
	return out
}

func resolved(id, payload string) agui.Answer {
	a := agui.Answer{ID: id, Status: agui.Resolved}
	if payload != "" {
		a.Payload = json.RawMessage(payload)
	}
	return a
}

func cancelled(id string) agui.Answer { return agui.Answer{ID: id, Status: agui.Cancelled} }

// endedRecord returns a record whose pause has ended. Its only question, "x", was answered with
// true. how is the kind of the pause's end, and finish is the final event.
func endedRecord(how store.EndKind, finish string) store.Record {
	p := testPause(interrupt("x", ""))
	return store.Record{Now: testNow, Results: []*store.Result{{
		PauseID: p.ID, IDs: []string{"x"}, Digest: Digest([]agui.Answer{resolved("x", "true")}), EndKind: how,
		Finish: json.RawMessage(finish), Pause: p,
		SeenMessages: append(slices.Clone(p.SeenMessages), agui.SeenMessage{ID: "a2"}),
	}}}
}

// comesBack returns an endedRecord in which the same question is open again under a new published
// id. The backend keeps the first answer to the question.
func comesBack(how store.EndKind, finish string) store.Record {
	r := endedRecord(how, finish)
	again := interrupt("x", "")
	again.ID, again.Object = "x2", json.RawMessage(strings.Replace(string(again.Object), `"x"`, `"x2"`, 1))
	r.State, r.Pause = store.Open, testPause(again)
	r.Pause.KeepsFirstAnswer = true
	return r
}

// comesAnew returns a record like comesBack, but the open question is a new one, which the backend
// has asked for the first time.
func comesAnew(how store.EndKind, finish string) store.Record {
	r := comesBack(how, finish)
	r.Pause.FirstAsked = true
	return r
}

// endedAs returns a record whose question "x" was answered with a, and whose pause ended well.
func endedAs(a agui.Answer) store.Record {
	r := endedRecord(store.Finished, endedWell)
	r.Results[0].Digest = Digest([]agui.Answer{a})
	return r
}

const (
	endedWell  = `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`
	endedBadly = `{"type":"RUN_ERROR","message":"no"}`
	oldUser    = `{"id":"u1","role":"user","content":"hi"}`
	editedUser = `{"id":"u1","role":"user","content":"hi, and more"}`
	newUser    = `{"id":"u2","role":"user","content":"never mind"}`
	assistant  = `{"id":"a1","role":"assistant","content":"?"}`
)

func TestJudge(t *testing.T) {
	const wantsApproved = `,"responseSchema":{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]}`
	past, recent := testNow.Add(-time.Minute).Format(time.RFC3339), testNow.Add(-2*time.Second).Format(time.RFC3339)
	open := func(list ...agui.Interrupt) store.Record {
		return store.Record{Now: testNow, State: store.Open, Pause: testPause(list...)}
	}
	claimed := func(answers ...agui.Answer) store.Record {
		r := open(interrupt("x", ""))
		r.State, r.Digest = store.Claimed, Digest(answers)
		return r
	}
	doubt := open(interrupt("x", ""))
	doubt.State = store.InDoubt
	two := open(interrupt("x", ""), interrupt("y", ""))
	tomb := endedRecord(store.Finished, "")
	tomb.Results[0].Tombstone, tomb.Results[0].Pause, tomb.Results[0].SeenMessages, tomb.Results[0].Digest = true, nil, nil, ""

	tests := []struct {
		name     string
		record   store.Record
		answers  []agui.Answer
		resume   bool // the request has a resume array, which may be empty
		messages []string
		stranger bool
		unread   *agui.RunError
		do       Act
		code     agui.Code
		reask    bool
		leave    OmittedParts
	}{
		// Ordinary runs.
		{name: "a run on a thread without a record passes", messages: []string{oldUser}, do: Pass},
		{name: "an empty resume array on a thread that waits for nothing loses the key", resume: true, do: Pass, leave: OmitArray},
		{name: "a run after an ended pause passes", record: endedRecord(store.Finished, endedWell), messages: []string{oldUser, newUser}, do: Pass},

		// Open interrupts block new input.
		{name: "a new message while a question is open is refused", record: open(interrupt("x", "")), messages: []string{oldUser, assistant, newUser}, do: Refuse, code: agui.PendingInterrupts, reask: true},
		{name: "an edited user message is new input", record: open(interrupt("x", "")), messages: []string{editedUser}, do: Refuse, code: agui.PendingInterrupts, reask: true},
		{name: "a tool result that the record lacks is new input", record: open(interrupt("x", "")), messages: []string{oldUser, `{"id":"t9","role":"tool","toolCallId":"c","content":"42"}`}, do: Refuse, code: agui.PendingInterrupts, reask: true},
		{name: "a reload is told the question again", record: open(interrupt("x", "")), messages: []string{oldUser, assistant}, do: TellAgain},
		{name: "a reload without messages is told the question again", record: open(interrupt("x", "")), do: TellAgain},
		{name: "an unknown assistant message is no input", record: open(interrupt("x", "")), messages: []string{oldUser, `{"id":"zz","role":"assistant","content":"?"}`}, do: TellAgain},
		{name: "CopilotKit's payload message is no input", record: open(interrupt("x", `,"toolCallId":"c"`)), messages: []string{oldUser, `{"id":"t9","role":"tool","toolCallId":"c","content":"{\"approved\":true}"}`}, do: TellAgain},
		{name: "an empty resume array answers nothing", record: open(interrupt("x", "")), resume: true, do: Refuse, code: agui.PartialResume, reask: true},

		// Which answers are accepted.
		{name: "all answered", record: two, answers: []agui.Answer{resolved("y", "1"), cancelled("x")}, do: Resume},
		{name: "one left open", record: two, answers: []agui.Answer{resolved("y", "1")}, do: Refuse, code: agui.PartialResume, reask: true},
		{name: "a no and a yes for one question", record: open(interrupt("x", "")), answers: []agui.Answer{resolved("x", "false"), resolved("x", "true")}, do: Refuse, code: agui.ResumeConflict, reask: true},
		{name: "one answer twice", record: open(interrupt("x", "")), answers: []agui.Answer{resolved("x", "true"), resolved("x", " true")}, do: Resume},
		{name: "one open and one unknown", record: two, answers: []agui.Answer{resolved("x", "1"), resolved("z", "1")}, do: Refuse, code: agui.UnknownInterruptID, reask: true},
		{name: "an unknown id on a thread without a record", answers: []agui.Answer{resolved("x", "1")}, do: Refuse, code: agui.UnknownInterruptID},
		{name: "an unknown id while another question is open asks that one again", record: open(interrupt("x", "")), answers: []agui.Answer{resolved("z", "1")}, do: Refuse, code: agui.UnknownInterruptID, reask: true},
		{name: "answers that cannot be read", record: open(interrupt("x", "")), unread: agui.Errorf(agui.InvalidPayload, "no"), do: Refuse, code: agui.InvalidPayload, reask: true},

		// Payloads.
		{name: "a payload that fits its schema", record: open(interrupt("x", wantsApproved)), answers: []agui.Answer{resolved("x", `{"approved":true}`)}, do: Resume},
		{name: "a payload that does not", record: open(interrupt("x", wantsApproved)), answers: []agui.Answer{resolved("x", `{"approved":"yes"}`)}, do: Refuse, code: agui.InvalidPayload, reask: true},
		{name: "no payload where the schema wants one", record: open(interrupt("x", wantsApproved)), answers: []agui.Answer{resolved("x", "")}, do: Refuse, code: agui.InvalidPayload, reask: true},
		{name: "a cancelled answer needs no payload", record: open(interrupt("x", wantsApproved)), answers: []agui.Answer{cancelled("x")}, do: Resume},
		{name: "a form of the dialect's own is not judged by the schema", record: open(interrupt("x", wantsApproved)), answers: []agui.Answer{{ID: "x", Status: agui.Resolved, Payload: json.RawMessage(`"t"`), OwnForm: true}}, do: Resume},
		{name: "no schema takes anything", record: open(interrupt("x", "")), answers: []agui.Answer{resolved("x", "")}, do: Resume},

		// Expiry.
		{name: "an expired question can be cancelled", record: open(interrupt("x", `,"expiresAt":"`+past+`"`)), answers: []agui.Answer{cancelled("x")}, do: Resume},
		{name: "an expired question cannot be approved", record: open(interrupt("x", `,"expiresAt":"`+past+`"`)), answers: []agui.Answer{resolved("x", "true")}, do: Refuse, code: agui.InterruptExpired, reask: true},
		{name: "clocks differ a little", record: open(interrupt("x", `,"expiresAt":"`+recent+`"`)), answers: []agui.Answer{resolved("x", "true")}, do: Resume},
		{name: "a time that is none never expires", record: open(interrupt("x", `,"expiresAt":"soon"`)), answers: []agui.Answer{resolved("x", "true")}, do: Resume},
		{name: "when all have expired new input cancels them", record: open(interrupt("x", `,"expiresAt":"`+past+`"`)), messages: []string{oldUser, newUser}, do: Resume},
		{name: "when one has not expired new input is refused", record: open(interrupt("x", `,"expiresAt":"`+past+`"`), interrupt("y", "")), messages: []string{oldUser, newUser}, do: Refuse, code: agui.PendingInterrupts, reask: true},

		// Claimed pauses.
		{name: "the same answers wait for the first", record: claimed(resolved("x", "true")), answers: []agui.Answer{resolved("x", " true ")}, do: Wait},
		{name: "other answers conflict", record: claimed(resolved("x", "true")), answers: []agui.Answer{resolved("x", "false")}, do: Refuse, code: agui.ResumeConflict},
		{name: "a run while claimed", record: claimed(resolved("x", "true")), messages: []string{oldUser}, do: Refuse, code: agui.ResumeInProgress},
		{name: "another resume while claimed", record: claimed(resolved("x", "true")), answers: []agui.Answer{cancelled("q")}, do: Refuse, code: agui.ResumeInProgress},

		// Pauses in doubt.
		{name: "a doubt is told to whoever comes first", record: doubt, messages: []string{oldUser}, do: Refuse, code: agui.ResumeInDoubt},
		{name: "a doubt is told to a resume", record: doubt, answers: []agui.Answer{resolved("x", "true")}, do: Refuse, code: agui.ResumeInDoubt},
		{name: "a told doubt is told again to resolved answers", record: endedRecord(store.Doubtful, ""), answers: []agui.Answer{resolved("x", "true")}, do: Refuse, code: agui.ResumeInDoubt},
		{name: "a told doubt lets cancelled answers go on", record: endedRecord(store.Doubtful, ""), answers: []agui.Answer{cancelled("x")}, do: EmptyRun},

		// Replays and their limits.
		{name: "the same answers again are replayed", record: endedRecord(store.Finished, endedWell), answers: []agui.Answer{resolved("x", "true")}, messages: []string{oldUser}, do: Replay},
		{name: "the same answers as a lost pause's are replayed", record: endedRecord(store.Lost, endedBadly), answers: []agui.Answer{resolved("x", "true")}, do: Replay},
		{name: "the same answers beside a new message are an ordinary run", record: endedRecord(store.Finished, endedWell), answers: []agui.Answer{resolved("x", "true")}, messages: []string{oldUser, newUser}, do: Pass, leave: OmitArray | OmitCommand},
		{name: "other answers for a finished pause conflict", record: endedRecord(store.Finished, endedWell), answers: []agui.Answer{resolved("x", "false")}, do: Refuse, code: agui.ResumeConflict},
		{name: "cancelling a pause that ended well conflicts", record: endedRecord(store.Finished, endedWell), answers: []agui.Answer{cancelled("x")}, do: Refuse, code: agui.ResumeConflict},
		{name: "cancelling a pause that ended well beside a new message goes on", record: endedRecord(store.Finished, endedWell), answers: []agui.Answer{cancelled("x")}, messages: []string{oldUser, newUser}, do: Pass, leave: OmitArray | OmitCommand},
		{name: "cancelling a pause that ended in an error goes on", record: endedRecord(store.Finished, endedBadly), answers: []agui.Answer{cancelled("x")}, messages: []string{oldUser}, do: EmptyRun},
		{name: "resolved answers for a lost pause say so", record: endedRecord(store.Lost, endedBadly), answers: []agui.Answer{resolved("x", "false")}, do: Refuse, code: agui.BackendLostInterrupt},
		{name: "cancelling what nobody knows ends quietly", answers: []agui.Answer{cancelled("x")}, messages: []string{oldUser, assistant}, do: EmptyRun},
		{name: "cancelling what nobody knows beside a message is an ordinary run", answers: []agui.Answer{cancelled("x")}, messages: []string{assistant, newUser}, do: Pass, leave: OmitArray | OmitCommand},
		{name: "a tombstone is unknown", record: tomb, answers: []agui.Answer{resolved("x", "true")}, do: Refuse, code: agui.UnknownInterruptID},

		// A backend that keeps the first answer.
		{name: "a question that comes back after a doubt takes the same answer", record: comesBack(store.Doubtful, ""), answers: []agui.Answer{resolved("x2", "true")}, do: Resume},
		{name: "and no other, which would carry the first one out again", record: comesBack(store.Doubtful, ""), answers: []agui.Answer{resolved("x2", "false")}, do: Refuse, code: agui.ResumeConflict, reask: true},
		{name: "a cancel is not handed on either, the pause is given up", record: comesBack(store.Finished, endedBadly), answers: []agui.Answer{cancelled("x2")}, do: EmptyRun},
		{name: "beside a new message that is an ordinary run", record: comesBack(store.Finished, endedBadly), answers: []agui.Answer{cancelled("x2")}, messages: []string{oldUser, newUser}, do: Pass, leave: OmitArray | OmitCommand},
		{name: "a cancel is not what an answer without payload was", record: endedAs(resolved("x", "")), answers: []agui.Answer{cancelled("x")}, do: Refuse, code: agui.ResumeConflict},
		{name: "a question to which the backend has come anew takes any answer", record: comesAnew(store.Doubtful, ""), answers: []agui.Answer{resolved("x2", "false")}, do: Resume},
		{name: "and a cancel, which is handed on", record: comesAnew(store.Finished, endedBadly), answers: []agui.Answer{cancelled("x2")}, do: Resume},
		{name: "after a good end it is a new question", record: comesBack(store.Finished, endedWell), answers: []agui.Answer{resolved("x2", "false")}, do: Resume},

		// Requests of another principal.
		{name: "a stranger's resume", record: open(interrupt("x", "")), answers: []agui.Answer{resolved("x", "true")}, stranger: true, do: Refuse, code: agui.UnknownInterruptID},
		{name: "a stranger's run", record: open(interrupt("x", "")), stranger: true, do: Refuse, code: agui.ThreadForbidden},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			q := Case{
				Input:   agui.RunInput{HasResume: tt.resume || len(tt.answers) > 0, Messages: messages(tt.messages...)},
				Answers: tt.answers, ReadError: tt.unread, Record: tt.record, OtherPrincipal: tt.stranger, Valid: validate,
			}
			d := Judge(&q)
			if d.Do != tt.do {
				t.Fatalf("action %d, want %d (%v)", d.Do, tt.do, d.Refusal)
			}
			if d.Do == Refuse && d.Refusal.Code != tt.code {
				t.Errorf("code %s, want %s", d.Refusal.Code, tt.code)
			}
			if d.AsksAgain != tt.reask || d.OmittedParts != tt.leave {
				t.Errorf("reask %v leave %v, want %v %v", d.AsksAgain, d.OmittedParts, tt.reask, tt.leave)
			}
			if d.Do == Resume {
				for n, i := range tt.record.Pause.Interrupts {
					if d.Answers[n].ID != i.ID {
						t.Errorf("answer %d is for %q, want %q", n, d.Answers[n].ID, i.ID)
					}
				}
			}
		})
	}
}

// TestExpiredQuestionWithAKeptAnswerHasAWayOn: a question has expired, so it can only be cancelled.
// But its backend has kept an approval, so only that same approval can be sent. At least one kind
// of request must be accepted, or the thread would be stuck.
func TestExpiredQuestionWithAKeptAnswerHasAWayOn(t *testing.T) {
	past := testNow.Add(-time.Minute).Format(time.RFC3339)
	rec := comesBack(store.Finished, endedBadly)
	old, again := interrupt("x", `,"expiresAt":"`+past+`"`), interrupt("x", `,"expiresAt":"`+past+`"`)
	again.ID, again.Object = "x2", json.RawMessage(strings.Replace(string(again.Object), `"x"`, `"x2"`, 1))
	rec.Results[0].Pause = testPause(old)
	rec.Pause.Interrupts = []agui.Interrupt{again}
	for _, q := range []Case{
		{Answers: []agui.Answer{resolved("x2", "true")}},
		{Answers: []agui.Answer{cancelled("x2")}},
		{Input: agui.RunInput{Messages: messages(oldUser, newUser)}},
		{},
	} {
		q.Record, q.Valid = rec, validate
		q.Input.HasResume = q.Answers != nil
		if d := Judge(&q); d.Do == Resume || d.Do == Pass || d.Do == EmptyRun {
			return
		}
	}
	t.Error("no request at all is let through: the thread waits until the retention ends")
}

// TestCancelOfATombstoneIsNoNewMessage: a cancel arrives for a question of which only a tombstone
// is left. With the cancel, CopilotKit sends a message. This message must not count as new input.
func TestCancelOfATombstoneIsNoNewMessage(t *testing.T) {
	q := Case{
		Input:   agui.RunInput{HasResume: true, Messages: messages(oldUser, assistant, `{"id":"m9","role":"tool","toolCallId":"c1","content":"{\"status\":\"cancelled\"}"}`)},
		Answers: []agui.Answer{cancelled("x")},
		Record: store.Record{Now: testNow, Results: []*store.Result{{
			PauseID: "p", IDs: []string{"x"}, EndKind: store.Finished, Tombstone: true, Failed: true,
			Pause: &agui.Pause{ID: "p", KeepsFirstAnswer: true, Interrupts: []agui.Interrupt{{ID: "x", Native: "n", Question: "q"}}},
		}}},
		Valid: validate,
	}
	if d := Judge(&q); d.Do != EmptyRun {
		t.Errorf("action %d, want %d: the backend gets a run with a result that no tool gave", d.Do, EmptyRun)
	}
}

// TestARequestOfHoldpointsOwnIsNeverAnOrdinaryRun tests the request by which Holdpoint itself sends
// the decisions of a pause. Whatever has happened to the pause, the request must send the decisions
// or do nothing. No client reads its response, so the response must not report a doubt: a client
// has to be told of a doubt.
func TestARequestOfHoldpointsOwnIsNeverAnOrdinaryRun(t *testing.T) {
	open := store.Record{Now: testNow, State: store.Open, Pause: testPause(interrupt("x", ""))}
	carried := open.Pause.ID
	claimed, doubt, other, stuck := open, open, open, comesBack(store.Finished, endedBadly)
	claimed.State, claimed.Digest = store.Claimed, Digest([]agui.Answer{resolved("x", "true")})
	doubt.State = store.InDoubt
	other.Pause = testPause(interrupt("y", ""))
	late := open
	late.Pause = testPause(interrupt("x", `,"expiresAt":"`+testNow.Add(-time.Minute).Format(time.RFC3339)+`"`))
	for _, tt := range []struct {
		name    string
		record  store.Record
		carry   string
		answers []agui.Answer
		do      Act
		ends    store.EndKind
	}{
		{name: "it is open", record: open, answers: []agui.Answer{resolved("x", "true")}, do: Resume},
		{name: "somebody carries it", record: claimed, answers: []agui.Answer{resolved("x", "true")}, do: Wait},
		{name: "it has ended so", record: endedRecord(store.Finished, endedWell), answers: []agui.Answer{resolved("x", "true")}, do: EmptyRun},
		{name: "it has ended otherwise", record: endedRecord(store.Lost, endedBadly), answers: []agui.Answer{resolved("x", "true")}, do: EmptyRun},
		{name: "nobody knows it", answers: []agui.Answer{cancelled("x")}, do: EmptyRun},
		{name: "another is open", record: other, answers: []agui.Answer{resolved("y", "true")}, do: EmptyRun},
		{name: "it is in doubt", record: doubt, answers: []agui.Answer{resolved("x", "true")}, do: EmptyRun},
		{name: "it brings no answers", record: open, do: EmptyRun},
		{name: "nor to what has expired", record: late, do: EmptyRun},
		{name: "its cancel cannot be handed on", record: stuck, carry: stuck.Pause.ID, answers: []agui.Answer{cancelled("x2")}, do: EmptyRun, ends: store.Withdrawn},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := Case{
				Input:   agui.RunInput{Messages: messages(oldUser, newUser)},
				Answers: tt.answers, Record: tt.record, Carry: carried, Valid: validate,
			}
			if tt.carry != "" {
				c.Carry = tt.carry
			}
			if r := Judge(&c); r.Do != tt.do || r.EndKind != tt.ends {
				t.Errorf("act %d, ends %q, want %d, %q (%v)", r.Do, r.EndKind, tt.do, tt.ends, r.Refusal)
			}
		})
	}
}

// TestWhyAnIDIsUnknown: an answer names an id that Holdpoint made, but no record has it. The
// refusal must name a possible reason.
func TestWhyAnIDIsUnknown(t *testing.T) {
	const lost = "n1~AbCd-_012345"
	open := store.Record{Now: testNow, State: store.Open, Pause: testPause(interrupt("n1~AbCd-_012346", ""))}
	for name, test := range map[string]struct {
		id       string
		inMemory bool
		record   store.Record
		want     string
	}{
		"in memory":                          {lost, true, store.Record{Now: testNow}, "before a restart"},
		"in memory, beside another question": {lost, true, open, "memory of another replica"},
		"kept":                               {lost, false, store.Record{Now: testNow}, "another path, agent or store"},
		"an id of the backend's":             {"n1", true, store.Record{Now: testNow}, ""},
		"an id that somebody made up":        {"n1~nobody", true, store.Record{Now: testNow}, ""},
		"one that is known to have ended": {lost, true, store.Record{Now: testNow, Results: []*store.Result{
			{PauseID: "p", IDs: []string{lost}, EndKind: store.Withdrawn, Tombstone: true},
		}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := &Case{Record: test.record, InMemory: test.inMemory, Answers: []agui.Answer{resolved(test.id, "true")}}
			r := Judge(c)
			c.NewThreads = true
			if of := Judge(c); test.record.Pause == nil && !strings.Contains(of.Refusal.Message, "ConversationId = id") {
				t.Errorf("a client of .NET's is told %q", of.Refusal.Message)
			}
			if r.Refusal == nil || r.Refusal.Code != agui.UnknownInterruptID {
				t.Fatalf("ruled %+v", r)
			}
			_, why, _ := strings.Cut(r.Refusal.Message, "not an open interrupt of this thread")
			if test.want == "" && why != "" || !strings.Contains(why, test.want) {
				t.Errorf("it says %q", r.Refusal.Message)
			}
		})
	}
}

// TestGivesUpElsewhere: a question belongs to another thread, and Holdpoint has sent it to the
// client as a text. Only a new message of the user may cancel this question.
func TestGivesUpElsewhere(t *testing.T) {
	tool := `{"id":"t1","role":"tool","toolCallId":"c9","content":"1"}`
	claimed := store.Record{Now: testNow, State: store.Claimed, Pause: testPause(interrupt("x", ""))}
	open := store.Record{Now: testNow, State: store.Open, Pause: testPause(interrupt("x", ""))}
	for name, c := range map[string]struct {
		record  store.Record
		givesUp bool
		last    string
		want    Act
	}{
		"a new message":                       {open, true, newUser, Resume},
		"a result of the client's tool":       {open, true, tool, Pass},
		"it was told in a form that it reads": {open, false, newUser, Pass},
		"its answers are on their way":        {claimed, true, newUser, Refuse},
	} {
		r := Judge(&Case{
			Input:  agui.RunInput{Messages: messages(oldUser, assistant, c.last)},
			Record: c.record, OtherThread: true, GivesUp: c.givesUp, Valid: validate,
		})
		if r.Do != c.want || r.Do == Resume && !AllCancelled(r.Answers) {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

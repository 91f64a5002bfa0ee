package ledger

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/internal/event"
	"holdpoint/store"
)

// asks returns a pause with a question for each of ids. If an id begins with "old", its question
// expired on 2026-01-01.
func asks(ids ...string) *agui.Pause {
	p := &agui.Pause{ID: "p", Dialect: "agui"}
	for _, id := range ids {
		i := agui.Interrupt{ID: id, Object: []byte(`{"id":"` + id + `","reason":"tool_call"}`)}
		if strings.HasPrefix(id, "old") {
			i.Object = []byte(`{"id":"` + id + `","reason":"tool_call","expiresAt":"2026-01-01T00:00:00Z"}`)
		}
		p.Interrupts = append(p.Interrupts, i)
	}
	return p
}

// inWords returns the occurrences in the form "kind code: ids", separated by commas.
func inWords(list []Occurrence) string {
	var words []string
	for _, o := range list {
		var ids []string
		for _, i := range o.Interrupts {
			ids = append(ids, i.ID)
		}
		words = append(words, strings.TrimSpace(fmt.Sprintf("%s %s", o.Kind, o.Code))+": "+strings.Join(ids, " "))
	}
	return strings.Join(words, ", ")
}

// TestEndsInWords: a claimed pause ends. The test checks the events that this end reports.
func TestEndsInWords(t *testing.T) {
	now := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	resolve := func(id string) agui.Answer {
		return agui.Answer{ID: id, Status: agui.Resolved, Payload: []byte(`true`)}
	}
	cancel := func(id string) agui.Answer { return agui.Answer{ID: id, Status: agui.Cancelled} }
	for situation, c := range map[string]struct {
		pause   *agui.Pause
		answers []agui.Answer
		result  store.Result
		want    string
	}{
		"one answer":                          {asks("x"), []agui.Answer{resolve("x")}, finished, "interrupt.resolved: x"},
		"the run ended with an error":         {asks("x"), []agui.Answer{resolve("x")}, errored, "interrupt.resolved X: x"},
		"a cancel":                            {asks("x"), []agui.Answer{cancel("x")}, finished, "interrupt.cancelled: x"},
		"a cancel of a question that expired": {asks("old"), []agui.Answer{cancel("old")}, finished, "interrupt.expired: old"},
		"an answer to one that expired":       {asks("old"), []agui.Answer{resolve("old")}, finished, "interrupt.resolved: old"},
		"of each": {
			asks("x", "old", "y", "z"), []agui.Answer{cancel("y"), resolve("z"), cancel("old"), resolve("x")}, finished,
			"interrupt.resolved: x z, interrupt.cancelled: y, interrupt.expired: old",
		},
		"the backend does not know it": {
			asks("x", "y"), []agui.Answer{resolve("x"), cancel("y")}, store.Result{EndKind: store.Lost}, "interrupt.lost BACKEND_LOST_INTERRUPT: x y",
		},
		"nobody knows": {asks("x"), []agui.Answer{resolve("x")}, store.Result{EndKind: store.Doubtful}, "resume.in_doubt: x"},
	} {
		t.Run(situation, func(t *testing.T) {
			told := answeredIn(c.pause, c.answers, make([]agui.Reading, len(c.answers)), now)
			if got := inWords(told.endOccurrences(&c.result)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestAnswersInEvents checks what an event says about an answer: its meaning, if the dialect knows
// it, and the person who gave it at the desk. If an answer is secret, the event must contain
// nothing of it.
func TestAnswersInEvents(t *testing.T) {
	p := asks("x", "secret", "open")
	p.Interrupts[1].Secret = true
	p.Decisions = []agui.Decision{{Question: "x", Door: string(event.Desk), By: "Maria"}}
	list := []agui.Answer{
		{ID: "secret", Status: agui.Resolved, Payload: []byte(`"key"`)},
		{ID: "x", Status: agui.Resolved, Payload: []byte(`{"approved":true}`)},
	}
	read := []agui.Reading{{}, {Meaning: agui.Approves, Edited: true}}
	got := answeredIn(p, list, read, time.Time{}).list
	if q := got[0]; q.ID != "x" || q.Verdict != "approved" || !q.Edited || q.By != "Maria" || q.Door != event.Desk || string(q.Payload) != `{"approved":true}` || q.AnswerDigest == "" {
		t.Errorf("an answer that was decided at the desk: %+v", q)
	}
	if q := got[1]; q.ID != "secret" || q.Status != "resolved" || q.Verdict != "" || q.Payload != nil || q.AnswerDigest != "" {
		t.Errorf("a secret: %+v", q)
	}
	if q := got[2]; q.ID != "open" || q.Status != "" || q.Payload != nil {
		t.Errorf("a question without an answer: %+v", q)
	}
	list[1].Payload[2] = 'X' // as if the request's memory was reused
	if !slices.Equal(got[0].Payload, []byte(`{"approved":true}`)) {
		t.Errorf("the event has the bytes of the request: %s", got[0].Payload)
	}
}

// TestVoice checks which person an event names. This depends on the door through which the request
// came: the chat or the desk.
func TestVoice(t *testing.T) {
	for situation, c := range map[string]struct {
		voice EventReporter
		want  string // door, principal
	}{
		"the chat":                            {EventReporter{}, "chat "},
		"the desk":                            {EventReporter{Desk: true, Decider: "Maria"}, "desk Maria"},
		"Holdpoint carries what was decided":  {EventReporter{Desk: true}, "desk "},
		"a decider is of no matter to a chat": {EventReporter{Decider: "Maria"}, "chat "},
	} {
		t.Run(situation, func(t *testing.T) {
			c.voice.Sinks = &Sinks{Now: func() time.Time { return time.Unix(1, 0) }, Agent: "billing"}
			c.voice.Thread, c.voice.Run = "t", "r"
			e := c.voice.event(WithdrawnPause(asks("x")), "key")
			if got := string(e.Door) + " " + e.Principal; got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if e.Agent != "billing" || e.Thread != "t" || e.Run != "r" || e.Pause != "p" || e.Dialect != "agui" || e.Approval != "key.p" || !e.Time.Equal(time.Unix(1, 0)) {
				t.Errorf("got %+v", e)
			}
		})
	}
	var silent EventReporter
	if silent.IsReporting() || silent.isRequired() || silent.report(WithdrawnPause(asks("x")), "key") != nil {
		t.Error("the zero EventReporter tells somebody")
	}
}

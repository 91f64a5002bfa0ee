package history_test

import (
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/proxy/internal/history"
	"holdpoint/store"
	"holdpoint/translate"
)

// part returns the messages of a chat from the index "from" up to, but not including, the index
// "to".
func part(in *agui.RunInput, from, to int) []agui.Message { return in.Messages[from:to:to] }

// TestWhatAResumeGoesOnWith checks that the backend gets a resume with the messages of the record,
// and after them the new messages of the request.
func TestWhatAResumeGoesOnWith(t *testing.T) {
	for name, c := range map[string]struct {
		// the record has as many of the first messages of chat as kept says; the request has those
		// from the index "from" on
		chat    string
		kept    int
		from    int
		unseen  bool // the paused run had a message that the record lacks
		ended   string
		ours    bool
		want    string
		partial bool // a message that the record knows of is missing
	}{
		"the whole history":                {chat: "u a:1 u", kept: 2, want: "u a:1 u"},
		"a message without an id":          {chat: "n a:1 u", kept: 2, want: "n a:1 u"},
		"no messages":                      {chat: "u a:1", kept: 2, from: 2, want: "u a:1"},
		"new messages only":                {chat: "u a:1 u", kept: 2, from: 2, want: "u a:1 u"},
		"nothing is kept":                  {chat: "u a:1 u", want: "u a:1 u"},
		"nothing is kept, and one missing": {chat: "u a:1 u", unseen: true, want: "u a:1 u", partial: true},
		"one missing, a request of ours":   {chat: "u a:1 u", unseen: true, ours: true, want: "u a:1 u"},
		"an answer to an earlier question": {chat: "u a:1 a:9 t:9=yes u", kept: 3, ended: "9=yes", want: "u a:1 a:9 u"},
		"which the record keeps":           {chat: "u a:9 t:9=yes a:1 u", kept: 4, ended: "9=yes", want: "u a:9 t:9=yes a:1 u"},
	} {
		t.Run(name, func(t *testing.T) {
			in := inputOf(t, c.chat, "")
			p := pauseOn("open", "1")
			if c.kept > 0 {
				p.Messages = agui.MessageList(part(in, 0, c.kept))
				for _, m := range part(in, 0, c.kept) {
					p.SeenMessages = append(p.SeenMessages, agui.NewSeenMessage(m))
				}
			}
			if c.unseen {
				p.SeenMessages = []agui.SeenMessage{{ID: "gone"}}
			}
			request := in.WithMessages(part(in, c.from, len(in.Messages)))
			v := viewOf(&request)
			v.Dialect.Reader, v.Record = reader{}, recordOf("", c.ended)
			v.Record.Pause = p
			list, whole := history.ResumeMessages(&request, p, history.ReadReplies(v), c.ours)
			if got := chatOf(list); got != c.want || whole == c.partial {
				t.Errorf("the messages are %q, whole: %v, want %q, %v", got, whole, c.want, !c.partial)
			}
		})
	}
	for request, want := range map[string]string{`{"a":1}`: `{"a":1}`, `{}`: `{"kept":1}`, ``: `{"kept":1}`, `null`: `{"kept":1}`} {
		if got := history.ResumeState(&agui.RunInput{State: json.RawMessage(request)}, &agui.Pause{State: json.RawMessage(`{"kept":1}`)}); string(got) != want {
			t.Errorf("with the state %q the resume has %s, want %s", request, got, want)
		}
	}
}

// TestStoredMessagesAreWhole checks that stored messages count as whole if they include all
// messages of the request. A message of the request that contains only an answer may be missing. It
// must be inserted after its call if the call has no result.
func TestStoredMessagesAreWhole(t *testing.T) {
	for name, c := range map[string]struct {
		stored, request string
		want            string
		partial         bool
	}{
		"all":                               {stored: "u a:1 t:1 w", request: "u a:1", want: "u a:1 t:1 w"},
		"new words of the person":           {stored: "u a:1", request: "u a:1 u", want: "u a:1", partial: true},
		"an answer whose call has none":     {stored: "u a:1", request: "u a:1 t:1=yes", want: "u a:1 t:1=yes"},
		"two answers to one call":           {stored: "u a:1", request: "u a:1 t:1=yes t:1=yes", want: "u a:1 t:1=yes"},
		"an answer to an earlier call":      {stored: "u a:1 u a:2", request: "u a:1 u a:2 t:1=yes", want: "u a:1 t:1=yes u a:2"},
		"an answer whose call is not there": {stored: "u", request: "u t:9=yes", want: "u"},
		"an answer whose call has a result": {stored: "u a:1 w t:1", request: "u a:1 t:1=yes", want: "u a:1 w t:1"},
	} {
		var stored []json.RawMessage
		for _, m := range inputOf(t, c.stored, "").Messages {
			stored = append(stored, json.RawMessage(m.JSON))
		}
		onlyAnswers := func(m agui.Message) bool { return strings.Contains(string(m.JSON), `"yes"`) }
		list, whole := history.WithAnswers(stored, inputOf(t, c.request, "").Messages, onlyAnswers)
		if got := chatOf(history.MessagesIn(agui.List(list))); got != c.want || whole == c.partial {
			t.Errorf("%s: %q, whole: %v, want %q, %v", name, got, whole, c.want, !c.partial)
		}
	}
}

// TestCatchUp: a chat has missed the end of its question, and sends new messages. It must get the
// messages that it has missed, and after them its own new messages.
func TestCatchUp(t *testing.T) {
	shown := inputOf(t, "u a:1 t:1 w", "").Messages
	news := inputOf(t, "w w w w u", "").Messages[4:]
	before, all, known := history.CatchUp(store.Snapshots{Messages: agui.MessageList(shown)}, news)
	if chatOf(before) != "u a:1 t:1 w" || chatOf(all) != "u a:1 t:1 w u" || !known {
		t.Errorf("before %q, all %q, known: %v", chatOf(before), chatOf(all), known)
	}
	if _, _, known := history.CatchUp(store.Snapshots{}, news); known {
		t.Error("what is not kept is known")
	}
	if got := history.NewAmong(all, news); chatOf(got) != "u" || got[0].ID != "m4" {
		t.Errorf("new are %q", chatOf(got))
	}
}

// TestRepliesBeforeTheQuestion checks that a reply does not answer a question if it is older than
// the question. A later reply must answer it.
func TestRepliesBeforeTheQuestion(t *testing.T) {
	for name, c := range map[string]struct {
		came  string // the messages of the run that asked the question
		shown string // the messages after that run's stream
		lost  bool   // these messages are not known
		later string // the messages of the next request
		is    string // the state of each reply in that request
	}{
		"a reply after it":                 {came: "u", shown: "u a:1", later: "u a:1 t:1=yes", is: "answer"},
		"a reply before it":                {came: "u a:1 t:1=yes", shown: "u a:1 t:1=yes a:1", later: "u a:1 t:1=yes a:1", is: "stray"},
		"two before it":                    {came: "u a:1 t:1=yes t:1=yes", shown: "u a:1 t:1=yes t:1=yes a:1", later: "u a:1 t:1=yes t:1=yes a:1", is: "stray stray"},
		"one before it and one after":      {came: "u a:1 t:1=yes", shown: "u a:1 t:1=yes a:1", later: "u a:1 t:1=yes a:1 t:1=yes", is: "stray answer"},
		"another one after it":             {came: "u a:1 t:1=yes", shown: "u a:1 t:1=yes a:1", later: "u a:1 t:1=yes a:1 t:1=no", is: "stray answer"},
		"one that the stream told":         {came: "u", shown: "u a:1 t:1=yes a:1", later: "u a:1 t:1=yes a:1", is: "stray"},
		"a message of before, by its id":   {came: "u a:1", lost: true, later: "u a:1 t:1=yes", is: "answer"},
		"the same message, and no history": {came: "u a:1 t:1=yes", lost: true, later: "u a:1 t:1=yes", is: "stray"},
	} {
		t.Run(name, func(t *testing.T) {
			p := pauseOn("open", "1")
			came := inputOf(t, c.came, "")
			prior, err := history.PriorReplies(reader{}, p, came, inputOf(t, c.shown, "").Messages, !c.lost)
			if err != nil {
				t.Fatal(err)
			}
			p.EarlierReplies = prior
			for _, m := range came.Messages {
				p.SeenMessages = append(p.SeenMessages, agui.NewSeenMessage(m))
			}
			v := viewOf(inputOf(t, c.later, ""))
			v.Dialect.Reader, v.Record.Pause = reader{}, p
			replies, _ := history.Read(v, history.Answers{}, "open")
			var is []string
			for _, d := range replies {
				is = append(is, stateOf(d))
			}
			if got := strings.Join(is, " "); got != c.is {
				t.Errorf("the replies are %q, want %q (before it: %v)", got, c.is, prior)
			}
		})
	}
	if list, err := history.PriorReplies(nil, pauseOn("open", "1"), inputOf(t, "u", ""), nil, true); list != nil || err != nil {
		t.Errorf("a dialect that reads no messages: %v, %v", list, err)
	}
	if _, err := history.PriorReplies(panics{}, pauseOn("open", "1"), inputOf(t, "u", ""), nil, true); err == nil {
		t.Error("a panic of the dialect is not an error")
	}
}

// A panics is a reader whose method Replies panics.
type panics struct{ reader }

func (panics) Replies(agui.RunInput, string) iter.Seq[translate.Reply] { panic("oh") }

// TestYesAndNoInTheAgentsValues: the operator has configured the agent's own values for yes and no.
// If the person answers yes or no, the dialect must get the agent's value.
func TestYesAndNoInTheAgentsValues(t *testing.T) {
	p := pauseOn("open", "1", "2")
	p.Interrupts[0].YesNo = &agui.YesNo{Yes: json.RawMessage(`"go"`), No: json.RawMessage(`"stop"`)}
	came := []agui.Answer{answerOf("1", "no"), answerOf("2", "no")}
	written, err := history.WriteYesNo(p, came, false)
	if err != nil || string(written[0].Payload) != `"stop"` || string(written[1].Payload) != `{"approved":false}` {
		t.Fatalf("%s, %v", written[0].Payload, err)
	}
	read := history.ReadYesNo(p, written)
	if contract.DigestOf(read[0]) != contract.DigestOf(came[0]) || contract.DigestOf(read[1]) != contract.DigestOf(came[1]) {
		t.Errorf("%s was read as %s", written[0].Payload, read[0].Payload)
	}
	if none, err := history.WriteYesNo(p, came, true); err != nil || string(none[0].Payload) != `{"approved":false}` {
		t.Errorf("an agent that is only to end what waits gets %s, %v", none[0].Payload, err)
	}
}

// A stateless is a dialect whose backends keep no state. The id of a question is the id of its call
// with the prefix "keeps-".
type stateless struct{}

func (stateless) AsksUnder(id, _ string) (string, bool) { return strings.CutPrefix(id, "keeps-") }

func (stateless) KeepsNothing(p *agui.Pause) bool { return p.Dialect == "stateless" }

func (stateless) ReadsCalls(p *agui.Pause) bool {
	return p.Dialect == "stateless" || p.Dialect == "reads"
}

// A reviver is a dialect. From the ids of lost questions it can make a pause, so that the backend
// can get a no to these questions.
type reviver struct{}

func (reviver) Revive(ids []string, spoken string) agui.Pause {
	if spoken != "fake" {
		return agui.Pause{}
	}
	return *pauseOn("revived", ids...)
}

// TestLostQuestions checks questions that a client names but that the record no longer has.
func TestLostQuestions(t *testing.T) {
	v := viewOf(inputOf(t, "u a:1 u", ""))
	v.Record, v.KnownDialect = recordOf("", "1=yes"), "fake"
	answers := []agui.Answer{{ID: "i1"}, {ID: "lost"}, {}, {ID: strings.Repeat("x", 2000)}}
	if got := fmt.Sprint(history.UnknownQuestions(v, answers)); got != "[lost]" {
		t.Errorf("unknown are %s", got)
	}
	if got := history.CallsOfLostQuestions(v, []string{"keeps-1"}); got != nil {
		t.Errorf("a dialect that does not say so knows %v", got)
	}
	v.Dialect.Stateless = stateless{}
	if got := fmt.Sprint(history.CallsOfLostQuestions(v, []string{"keeps-1~abcdefghijkl", "other"})); got != "[1 keeps-1]" {
		t.Errorf("their calls are %s", got)
	}
	if !history.HoldsCall(v, func(call string) bool { return call == "1" }) || history.HoldsCall(v, func(call string) bool { return call == "2" }) {
		t.Error("the messages hold the call 1, and no other")
	}
	if history.RevivedPause(v, []string{"lost"}) != nil {
		t.Error("a dialect that cannot has revived a question")
	}
	v.Dialect.Reviver = reviver{}
	p := history.RevivedPause(v, []string{"i1", "lost"})
	if p == nil || len(p.Interrupts) != 1 || p.Interrupts[0].Native != "lost" || len(p.SeenMessages) != 2 || len(p.Finish) == 0 {
		t.Errorf("revived: %+v", p)
	}
	if history.RevivedPause(v, []string{"i1"}) != nil || history.RevivedPause(v, nil) != nil {
		t.Error("what the record knows is not revived")
	}
	if v.KnownDialect = "another"; history.RevivedPause(v, []string{"lost"}) != nil {
		t.Error("revived before a backend that nobody knows how to tell no")
	}
}

// TestWhatOnlyAnswers: a request has a resume entry, and the test checks which messages count as
// only an answer. If the record has the entry's question, they are the messages that repeat an
// answer to it. If the record does not have it, any message that looks like an answer counts,
// except the result of a tool that the request declares.
func TestWhatOnlyAnswers(t *testing.T) {
	const resolved = `{"status":"resolved"}`
	for name, c := range map[string]struct {
		entry, message string
		declared       string // a call whose tool the request declares
		want           bool
	}{
		"an answer to a known question":   {entry: "i1", message: "t:1=" + resolved, want: true},
		"a result of its call":            {entry: "i1", message: "t:1"},
		"an answer on another call":       {entry: "i1", message: "t:9=" + resolved},
		"to a question that is forgotten": {entry: "gone", message: "t:9=" + resolved, want: true},
		"on a call of a declared tool":    {entry: "gone", message: "t:9=" + resolved, declared: "9"},
		"on the call of a known question": {entry: "gone", message: "t:1=" + resolved, declared: "1", want: true},
		"words of the person":             {entry: "gone", message: "u"},
	} {
		v := viewOf(inputOf(t, c.message, fmt.Sprintf(`,"resume":[{"interruptId":%q,"status":"resolved"}]`, c.entry)))
		v.Record = recordOf("", "1=yes")
		only := history.OnlyAnswers(v, &contract.Case{Input: *v.Input, Record: *v.Record}, func() map[string]bool { return map[string]bool{c.declared: true} })
		if got := only(v.Input.Messages[0]); got != c.want {
			t.Errorf("%s: only an answer: %v, want %v", name, got, c.want)
		}
	}
}

// TestRecordedResults: a message of the request repeats a result of the record, under another id.
func TestRecordedResults(t *testing.T) {
	for name, c := range map[string]struct {
		record, request string // the last message of the request is judged
		repeats         bool
	}{
		"a result":                         {"u a:1 t:1", "t:1", true},
		"the same result, written again":   {"u a:1 t:1", "t:1=other", true},
		"a result without its call":        {"u t:1", "t:1", true},
		"a result of a call that has none": {"u a:1", "t:1", false},
		"a result of another call":         {"u a:1,2 t:1", "t:2", false},
		"a result of an earlier call":      {"u a:1 t:1 u a:1", "t:1", true},
		"the id of an earlier call":        {"u a:1 t:1 u a:1", "t:1=other", false},
		"one more result than on record":   {"u a:1 t:1", "u a:1 t:1 u a:1 t:1", false},
		"one more, and another text":       {"u a:1 t:1", "u a:1 t:1 u a:1 t:1=other", false},
		"as many results as on record":     {"u a:1 t:1 u a:1 t:1", "u a:1 t:1 u a:1 t:1", true},
		"two copies of a result":           {"u a:1 t:1", "u a:1 t:1 t:1=other", true},
		"a message of the user":            {"u a:1 t:1", "u:1=gone", false},
		"an empty record":                  {"", "t:1", false},
	} {
		for _, ended := range []bool{false, true} {
			in := inputOf(t, c.request, "")
			v := viewOf(in)
			messages := agui.MessageList(inputOf(t, c.record, "").Messages)
			var result *store.Result
			if ended {
				result = &store.Result{PauseID: "p"}
				v.Memory = memory{kept: func(store.Moment) json.RawMessage { return messages }}
			} else {
				v.Record.Pause = &agui.Pause{ID: "p", Messages: messages}
			}
			if got := history.RecordedResults(v, result)(in.Messages[len(in.Messages)-1]); got != c.repeats {
				t.Errorf("%s, ended %v: %v", name, ended, got)
			}
		}
	}
}

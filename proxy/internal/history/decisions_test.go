package history_test

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/history"
	"holdpoint/store"
)

// A decider is a dialect. Its backends read a tool message with the content "yes" as a decision on
// any call.
type decider struct{}

func (decider) ReadsDecisions(string) bool { return true }

func (decider) Decides(m agui.Message, _ bool, spoken string) bool {
	return spoken != "another" && gjson.GetBytes(m.JSON, "content").Str == "yes"
}

func (decider) Harmless(m agui.Message) agui.Message {
	return agui.ParseMessage(agui.SetString(m.JSON, "content", "harmless"))
}

// TestDecisionsOnUnknownCalls: a backend could read a message as a decision on a call, but the
// record has no question about this call. If the message is at the end of a request, Holdpoint must
// refuse the request. If later text follows the message, Holdpoint must rewrite the message.
func TestDecisionsOnUnknownCalls(t *testing.T) {
	const declared = `,"tools":[{"name":"rm","description":"","parameters":{}}]`
	for name, c := range map[string]struct {
		chat, more  string
		open, ended string
		spoken      string
		passed      string // a call of an undeclared tool that a stream left to the client
		left        string // a call of a declared tool that a stream left to the client
		noted       string // a call like left, but noted in the record
		inMemory    bool   // the store loses its records with the process
		down        bool   // the store fails
		carries     bool
		unasked     string // the call that the end of the request decides on, or ""
		want        string // the messages, "" if all stay
	}{
		"at the end":                           {chat: "u a:1 t:1=yes", unasked: "1"},
		"without its call":                     {chat: "u t:1=yes", unasked: "1"},
		"before words":                         {chat: "u a:1 t:1=yes u", want: "u a:1 t:1=harmless u"},
		"before words, without its call":       {chat: "u t:1=yes u", want: "u u"},
		"in both places":                       {chat: "u a:1 t:1=yes u a:2 t:2=yes", unasked: "2", want: "u a:1 t:1=harmless u a:2 t:2=yes"},
		"before the assistant's words":         {chat: "u a:1 t:1=yes w", want: "u a:1 t:1=harmless w"},
		"a result":                             {chat: "u a:1 t:1"},
		"another backend":                      {chat: "u a:1 t:1=yes", spoken: "another"},
		"an open question is about it":         {chat: "u a:1 t:1=yes", open: "1"},
		"a question was about it":              {chat: "u a:1 t:1=yes u", ended: "1=yes"},
		"a stream left it to the client":       {chat: "u a:1 t:1=yes", passed: "1", spoken: "fake"},
		"it left a call of the client's tools": {chat: "u a:1 t:1=yes", more: declared, left: "1", spoken: "fake"},
		"and the client does not send it":      {chat: "u t:1=yes", more: declared, left: "1", spoken: "fake"},
		"the record noted that":                {chat: "u a:1 t:1=yes", more: declared, noted: "1", spoken: "fake"},
		"the request does not declare it":      {chat: "u a:1 t:1=yes", left: "1", spoken: "fake", unasked: "1"},
		"only the request claims it":           {chat: "u a:1 t:1=yes", more: declared, spoken: "fake", unasked: "1"},
		"the same on an unknown route":         {chat: "u a:1 t:1=yes", more: declared, unasked: "1"},
		"the same, and the store forgets":      {chat: "u a:1 t:1=yes", more: declared, inMemory: true},
		"the same, and the store is down":      {chat: "u a:1 t:1=yes", more: declared, inMemory: true, down: true, unasked: "1"},
		"a request that carries a pause":       {chat: "u a:1 t:1=yes", carries: true},
	} {
		t.Run(name, func(t *testing.T) {
			v := viewOf(inputOf(t, c.chat, c.more))
			v.Dialect.Decisions, v.Record, v.KnownDialect, v.Thread = decider{}, recordOf(c.open, c.ended), c.spoken, "key"
			v.InMemory, v.NotAsked, v.CarriesDecisions = c.inMemory, c.down, c.carries
			v.Memory = memory{passed: func(call string, own bool) bool { return own && call == c.left || !own && call == c.passed }}
			if c.noted != "" {
				v.Record.Notes = []store.Note{{ID: history.LeftPrefix + "n", Text: agui.MustMarshal([]string{history.LeftHash("key", c.noted)})}}
			}
			if got := history.UnaskedCall(v); got != c.unasked {
				t.Errorf("the request decides on the unknown call %q, want %q", got, c.unasked)
			}
			list, count := history.Disarm(v)
			want := c.want
			if want == "" {
				want = c.chat
			}
			if got := chatOf(list); got != want || (count > 0) != (c.want != "") {
				t.Errorf("%d made harmless, the messages are %q, want %q", count, got, want)
			}
		})
	}
}

// TestResultsOfTheTurn: the record has the turn that asked the open question. A result in that turn
// is not a decision, and every other message is still read as one.
func TestResultsOfTheTurn(t *testing.T) {
	for name, c := range map[string]struct {
		record, chat string
		unasked      string
		replies      int
	}{
		"a result of the turn":          {"u a:1,2 t:1=yes", "u a:1,2 t:1=yes", "", 0},
		"another text":                  {"u a:1,2 t:1", "u a:1,2 t:1=yes", "1", 1},
		"another call":                  {"u a:1,2 t:1=yes", "u a:1,2 t:2=yes", "", 1}, // the open question is about it
		"a call that nobody made":       {"u a:1,2 t:1=yes", "u a:1,2 t:1=yes t:3=yes", "3", 1},
		"from before the turn":          {"u a:1 t:1=yes u a:2", "u a:2 t:1=yes", "1", 1},
		"no message of the turn":        {"", "u a:1,2 t:1=yes", "1", 1},
		"a message of the user in turn": {"u a:1,2 t:1=yes", "u a:1,2 u:1=yes", "", 1},
	} {
		v := viewOf(inputOf(t, c.chat, ""))
		v.Dialect.Decisions, v.Dialect.Reader, v.Record = decider{}, reader{}, recordOf("2", "")
		v.Record.Pause.Messages = agui.MessageList(inputOf(t, c.record, "").Messages)
		if got := history.UnaskedCall(v); got != c.unasked {
			t.Errorf("%s: the request decides on the unknown call %q, want %q", name, got, c.unasked)
		}
		if got := history.ReadReplies(v); len(got) != c.replies {
			t.Errorf("%s: %d replies, want %d", name, len(got), c.replies)
		}
	}
}

// TestACallThatBeginsAgain: some models repeat the ids of calls. A client sends the result of its
// own tool, and an earlier question was about a call with the same id. If that question was
// answered, and a later stream has begun the call anew, the result must not count as an answer to
// that question.
func TestACallThatBeginsAgain(t *testing.T) {
	const declared = `,"tools":[{"name":"rm","description":"","parameters":{}}]`
	failed := func(result *store.Result) { result.Finish = []byte(`{"type":"RUN_ERROR","message":"x"}`) }
	for name, c := range map[string]struct {
		chat   string
		more   string
		open   string
		change func(*store.Result)
		noted  bool   // the record notes that the stream began the call again
		is     string // the state of each reply
	}{
		"the stream has begun it":               {chat: "u a:1 t:1=yes u a:1 t:1=yes", more: declared, noted: true},
		"the earlier one is another's":          {chat: "u w a:1 t:1=yes", more: declared, noted: true},
		"nobody has seen it begin":              {chat: "u w a:1 t:1=yes", more: declared, is: "answer"},
		"the request does not claim it":         {chat: "u w a:1 t:1=yes", noted: true, is: "answer"},
		"the run of the question failed":        {chat: "u w a:1 t:1=yes", more: declared, noted: true, change: failed, is: "answer"},
		"the question was withdrawn":            {chat: "u w a:1 t:1=yes", more: declared, noted: true, change: func(r *store.Result) { r.EndKind = store.Withdrawn }, is: "answer"},
		"nobody knows how it ended":             {chat: "u w a:1 t:1=yes", more: declared, noted: true, change: func(r *store.Result) { r.EndKind = store.Doubtful }, is: "answer"},
		"the question about it is open (again)": {chat: "u w a:1 t:1=yes", more: declared, open: "1", noted: true, is: "known"},
	} {
		t.Run(name, func(t *testing.T) {
			v := viewOf(inputOf(t, c.chat, c.more))
			v.Dialect.Reader, v.Record = reader{}, recordOf(c.open, "1=yes")
			if c.change != nil {
				c.change(v.Record.Results[0])
			}
			if c.noted {
				v.Record.Notes = []store.Note{{ID: history.ReusedNote("ended", "1")}}
			}
			replies, _ := history.Read(v, history.Answers{}, "ended")
			var is []string
			for _, d := range replies {
				is = append(is, stateOf(d))
			}
			if got := strings.Join(is, " "); got != c.is {
				t.Errorf("the replies are %q, want %q", got, c.is)
			}
		})
	}
}

package history_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/history"
	"holdpoint/store"
)

// TestWhichCallsArePutBack: a history has a result without its call. If the request also has
// messages of the conversation, Holdpoint must add the call from the record.
func TestWhichCallsArePutBack(t *testing.T) {
	kept := map[store.Moment]string{store.AtPause: "u a:1", store.AtEnd: "u a:5 t:5"}
	for name, c := range map[string]struct {
		chat, open, ended string
		unseen            bool   // the record has none of the chat's messages
		want              string // the messages, "" if all stay
	}{
		"nothing is lacking":                 {chat: "u a:5 t:5 u", ended: "1=yes"},
		"the call of a result":               {chat: "u t:5 u", ended: "1=yes", want: "u a:5 t:5 u"},
		"its message of before has the call": {chat: "u a:6 t:5 t:6 u", ended: "1=yes", want: "u a:6,5 t:5 t:6 u"},
		"a call that was asked about":        {chat: "u t:1 u", ended: "1=yes", want: "u a:1 t:1 u"},
		"two results of one turn":            {chat: "u t:5 t:1 u", ended: "1=yes", want: "u a:5,1 t:5 t:1 u"},
		"a call that the record lacks":       {chat: "u t:7 u", ended: "1=yes"},
		"the open question's call":           {chat: "u t:1 u", open: "1"},
		"only new messages":                  {chat: "t:5 u", ended: "1=yes", unseen: true},
		"no record":                          {chat: "u t:5 u"},
	} {
		t.Run(name, func(t *testing.T) {
			v := viewOf(inputOf(t, c.chat, ""))
			v.Record = recordOf(c.open, c.ended)
			v.Memory = memory{kept: func(at store.Moment) json.RawMessage {
				return agui.MessageList(inputOf(t, kept[at], "").Messages)
			}}
			if p := v.Record.Pause; p != nil {
				p.SnapshotBytes = 1
			}
			for _, m := range v.Input.Messages {
				if m.Role != "user" || c.unseen {
					continue
				}
				if p := v.Record.Pause; p != nil {
					p.SeenMessages = append(p.SeenMessages, agui.NewSeenMessage(m))
				}
				for _, result := range v.Record.Results {
					result.SeenMessages = append(result.SeenMessages, agui.NewSeenMessage(m))
				}
			}
			mended := history.CompleteMessages(v)
			want := c.want
			if want == "" {
				want = c.chat
			}
			if got := chatOf(mended.Messages); got != want || mended.PutBack != (c.want != "") {
				t.Errorf("the messages are %q, put back: %v, want %q", got, mended.PutBack, want)
			}
		})
	}
}

// TestWhatAYesRuns: a client approves a call, and its messages have the call with other arguments
// than the person saw. Holdpoint must replace these arguments by those of the record. If it is not
// certain what the approval would run, Holdpoint must refuse the approval.
func TestWhatAYesRuns(t *testing.T) {
	const shown, edited = `{"path":"/tmp/a"}`, `{"path":"/"}`
	call := func(args string) string {
		return `{"id":"1","type":"function","function":{"name":"rm","arguments":` + string(agui.MustMarshal(args)) + `}}`
	}
	message := func(calls ...string) string {
		return `{"id":"a","role":"assistant","toolCalls":[` + strings.Join(calls, ",") + `]}`
	}
	twoIDs := `{"id":"1","id":"2","type":"function","function":{"name":"rm","arguments":"{}"}}`
	twoTools := strings.Replace(call(shown), `"name":"rm"`, `"name":"rm","name":"ls"`, 1)
	for name, c := range map[string]struct {
		says     string
		unknown  bool     // the record does not have the complete call
		kept     []string // the messages of the record
		messages []string
		restored bool
		refused  bool
	}{
		"as it was shown":               {says: "yes", messages: []string{message(call(shown))}},
		"with other arguments":          {says: "yes", messages: []string{message(call(edited))}, restored: true},
		"a no, with other arguments":    {says: "no", messages: []string{message(call(edited))}, restored: true},
		"the messages lack it":          {says: "yes", messages: []string{userOne}},
		"the messages hold it twice":    {says: "yes", messages: []string{message(call(shown)), message(call(shown))}, refused: true},
		"twice in one message":          {says: "yes", messages: []string{message(call(shown), call(edited))}, refused: true},
		"the client was shown two":      {says: "yes", kept: []string{message(call(shown)), message(call(shown))}, messages: []string{message(call(shown)), message(call(shown))}},
		"twice, and a no":               {says: "no", messages: []string{message(call(shown)), message(call(shown))}},
		"read in two ways":              {says: "yes", messages: []string{message(twoIDs)}, refused: true},
		"read in two ways, and a no":    {says: "no", messages: []string{message(twoIDs)}},
		"with two tools":                {says: "yes", messages: []string{message(twoTools)}, restored: true},
		"too large to be kept":          {says: "yes", unknown: true, messages: []string{message(call(shown))}, refused: true},
		"too large, and a no":           {says: "no", unknown: true, messages: []string{message(call(edited))}},
		"another call beside it":        {says: "yes", messages: []string{message(strings.ReplaceAll(call(edited), `"1"`, `"2"`), call(shown))}},
		"another call is not looked at": {says: "yes", messages: []string{message(strings.ReplaceAll(call(edited), `"1"`, `"2"`))}},
	} {
		t.Run(name, func(t *testing.T) {
			p := pauseOn("open", "1")
			p.Interrupts[0].Calls = []agui.AskedCall{{ID: "1", Name: "rm", Args: shown, ArgumentsUnknown: c.unknown}}
			p.Messages = json.RawMessage(`[` + strings.Join(c.kept, ",") + `]`)
			answers := history.WithMeanings(p, []agui.Answer{answerOf("1", c.says)})
			list := history.MessagesIn(json.RawMessage(`[` + strings.Join(c.messages, ",") + `]`))
			restored, refused := history.RestoreCalls(p, answers, list)
			if (refused != nil) != c.refused || refused != nil && refused.Code != agui.ApprovalUncertain {
				t.Fatalf("refused: %v, want %v", refused, c.refused)
			}
			if refused != nil {
				return
			}
			if history.Changed(restored.Messages, list) != c.restored || (len(restored.Calls) > 0) != c.restored {
				t.Errorf("restored: %q, want %v", restored.Calls, c.restored)
			}
			messages := string(agui.MessageList(restored.Messages))
			if c.restored && (strings.Contains(messages, `"/\"`) || strings.Contains(messages, `"ls"`) || !strings.Contains(messages, "/tmp/a")) {
				t.Errorf("the messages are %s", messages)
			}
		})
	}
}

// continuer is a dialect whose backends run the open calls of a history.
type continuer struct{}

func (continuer) Continues(spoken, _ string) bool { return spoken == "fake" }

// TestWhichOpenCallsReachTheBackend: a backend runs the calls of a history that have no result. It
// must get such a call only if a run left the call open and no question was about it.
func TestWhichOpenCallsReachTheBackend(t *testing.T) {
	const declared = `,"tools":[{"name":"rm","description":"","parameters":{}},{"name":"mine","description":"","parameters":{}}]`
	const other = `,"tools":[{"name":"mine","description":"","parameters":{}}]`
	down := errors.New("down")
	for name, c := range map[string]struct {
		chat        string // mine:1 is the result of a call of a declared tool
		more        string
		open, ended string
		answers     bool   // the request answers the open question
		left        string // a call that a run of this process left open
		noted       string // a call that the record notes as left open
		here        string // a call that this conversation asked about
		elsewhere   string // a call that any conversation asked about
		down        bool   // lookups in the index fail
		lost        bool   // a question of the chat is lost
		spoken      string
		want        string // the messages, "" if all stay
		unknown     int
		abandoned   int
	}{
		"nobody knows the call":                 {chat: "u a:1 mine", more: other, want: "u w mine", unknown: 1},
		"a run left it open":                    {chat: "u a:1 mine", more: other, left: "1"},
		"the record noted that":                 {chat: "u a:1 mine", more: other, noted: "1"},
		"the request declares its tool":         {chat: "u a:1 mine", more: declared},
		"it has a result":                       {chat: "u a:1 t:1 mine", more: other},
		"a question was about it":               {chat: "u a:1 mine", more: other, left: "1", ended: "1=no", want: "u w mine", unknown: 1},
		"an open question is about it":          {chat: "u a:1 mine", more: declared, open: "1", want: "u w mine", unknown: 1},
		"the request answers that question":     {chat: "u a:1 mine", more: declared, open: "1", answers: true},
		"another thread was asked about it":     {chat: "u a:1 mine", more: other, left: "1", here: "1", want: "u w mine", unknown: 1},
		"somebody was asked about an equal one": {chat: "u a:1 mine", more: declared, elsewhere: "1", want: "u w mine", unknown: 1},
		"and a run left this one open since":    {chat: "u a:1 mine", more: other, left: "1", elsewhere: "1"},
		"the store does not say":                {chat: "u a:1 mine", more: other, left: "1", down: true, want: "u w mine", unknown: 1},
		"one of two":                            {chat: "u a:1,2 mine", more: other, left: "2", want: "u a:2 mine", unknown: 1},
		"the request continues nothing":         {chat: "u a:1 u", more: other},
		"another backend":                       {chat: "u a:1 mine", more: other, spoken: "another"},
		"a lost question, talked past":          {chat: "u a:1 u", lost: true, spoken: "another", want: "u w u", abandoned: 1},
		"a lost question, not talked past":      {chat: "u a:1", lost: true, spoken: "another"},
		"lost, and its tool is declared":        {chat: "u a:1 u", more: declared, lost: true, spoken: "another"},
	} {
		t.Run(name, func(t *testing.T) {
			in := inputOf(t, strings.ReplaceAll(c.chat, "mine", "a:mine t:mine"), c.more)
			// this call is of the client's own tool, which has another name
			for n, m := range in.Messages {
				in.Messages[n] = agui.ParseMessage([]byte(strings.ReplaceAll(string(m.JSON), `{"id":"mine","type":"function","function":{"name":"rm"`, `{"id":"mine","type":"function","function":{"name":"mine"`)))
			}
			v := viewOf(in)
			v.Dialect.Continuer, v.KnownDialect, v.Record = continuer{}, "fake", recordOf(c.open, c.ended)
			if c.spoken != "" {
				v.KnownDialect = c.spoken
			}
			key := func(id string) history.CallKey {
				return history.NewCallKey(v.Scope, agui.Call{ID: id, Name: "rm", Args: "{}"})
			}
			if c.noted != "" {
				v.Record.Notes = []store.Note{{ID: history.OpenPrefix + "n", Text: agui.MustMarshal([]string{key(c.noted).Text()})}}
			}
			v.Memory = memory{
				leftOpen: func(k history.CallKey) bool { return k == key("mine") || c.left != "" && k == key(c.left) },
				wasAsked: func(call agui.Call) (here, somewhere bool, err error) {
					if c.down {
						return false, false, down
					}
					return call.ID == c.here, call.ID == c.here || call.ID == c.elsewhere, nil
				},
			}
			var answers *agui.Pause
			if c.answers {
				answers = v.Record.Pause
			}
			out := history.WithholdOpenCalls(v, answers, c.lost)
			want := c.want
			if want == "" {
				want = c.chat
			}
			if got := chatOf(out.Input.Messages); got != strings.ReplaceAll(want, "mine", "a:mine t:mine") {
				t.Errorf("the messages are %q, want %q", got, want)
			}
			if out.UnknownCalls != c.unknown || out.AbandonedCalls != c.abandoned || (out.ChangedMessages != nil) != (c.want != "") || (out.IndexError != nil) != c.down {
				t.Errorf("%d unknown, %d abandoned, %d edited, failed: %v", out.UnknownCalls, out.AbandonedCalls, len(out.ChangedMessages), out.IndexError)
			}
		})
	}
}

// TestCallKeys checks that two calls in the same scope have the same key if they differ only in the
// spelling of their arguments, and different keys otherwise.
func TestCallKeys(t *testing.T) {
	scope := history.Scope{Tenant: "t", Agent: "a", Path: "/p", Owner: "o"}
	call := agui.Call{ID: "1", Name: "rm", Args: `{"a":1,"b":2}`}
	key := history.NewCallKey(scope, call)
	for name, c := range map[string]struct {
		scope history.Scope
		call  agui.Call
		same  bool
	}{
		"the same":            {scope, call, true},
		"in another order":    {scope, agui.Call{ID: "1", Name: "rm", Args: `{ "b":2, "a":1 }`}, true},
		"another id":          {scope, agui.Call{ID: "2", Name: "rm", Args: call.Args}, false},
		"another tool":        {scope, agui.Call{ID: "1", Name: "ls", Args: call.Args}, false},
		"other arguments":     {scope, agui.Call{ID: "1", Name: "rm", Args: `{"a":1}`}, false},
		"another tenant":      {history.Scope{Tenant: "x", Agent: "a", Path: "/p", Owner: "o"}, call, false},
		"another agent":       {history.Scope{Tenant: "t", Agent: "x", Path: "/p", Owner: "o"}, call, false},
		"another path":        {history.Scope{Tenant: "t", Agent: "a", Path: "/x", Owner: "o"}, call, false},
		"another principal":   {history.Scope{Tenant: "t", Agent: "a", Path: "/p", Owner: "x"}, call, false},
		"parts that run over": {history.Scope{Tenant: "ta", Agent: "", Path: "/p", Owner: "o"}, call, false},
	} {
		if got := history.NewCallKey(c.scope, c.call) == key; got != c.same {
			t.Errorf("%s: the same key: %v, want %v", name, got, c.same)
		}
	}
	empty := history.NewCallKey(scope, agui.Call{ID: "1", Name: "rm", Args: "{}"})
	for _, args := range []string{"", " ", "null", "{}", "{ }"} {
		if history.NewCallKey(scope, agui.Call{ID: "1", Name: "rm", Args: args}) != empty {
			t.Errorf("a call without arguments has another key with %q", args)
		}
	}
	if got := history.CallKeys(scope, []agui.AskedCall{{ID: "1", Name: "rm"}, {ID: "2", ArgumentsUnknown: true}}); len(got) != 1 || got[0] != empty {
		t.Errorf("the keys are %v", got)
	}
}

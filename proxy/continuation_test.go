package proxy

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"holdpoint/store/memory"
	"holdpoint/translate/dialects"
)

// The turn of these tests: the model calls pick_color, which the request declares, and another tool
// of its own. The .NET host on AGUI.Server approves each call without a result once pick_color has
// its result.
const (
	ownColor  = `{"id":"p1","type":"function","function":{"name":"pick_color","arguments":"{}"}}`
	colorIs   = `{"id":"tp1","role":"tool","toolCallId":"p1","content":"blue"}`
	openCallA = `{"id":"g1","type":"function","function":{"name":"delete_file","arguments":"{\"path\":\"a.txt\"}"}}`
)

var declaresColor = declares("pick_color")

// turnOf is the message with the calls. A message without an id is how .NET's own client writes it.
func turnOf(list ...string) string {
	return `{"role":"assistant","toolCalls":[` + strings.Join(list, ",") + `],"id":"a7"}`
}

// streams are the events of a call.
func streams(id, name, args, contents string) []string {
	raw := ""
	if contents != "" {
		raw = `,"rawEvent":{"role":"assistant","contents":[` + contents + `]}`
	}
	return []string{
		fmt.Sprintf(`{"type":"TOOL_CALL_START","parentMessageId":"a7","toolCallId":%q,"toolCallName":%q%s}`, id, name, raw),
		fmt.Sprintf(`{"type":"TOOL_CALL_ARGS","toolCallId":%q,"delta":%q%s}`, id, args, raw),
		fmt.Sprintf(`{"type":"TOOL_CALL_END","toolCallId":%q%s}`, id, raw),
	}
}

// frontgate is a turn with both calls, in which the host asks about delete_file if gated.
func frontgate(gated bool) []string {
	contents := ""
	if gated {
		contents = `{"$type":"toolApprovalRequest","toolCall":{"$type":"functionCall","name":"delete_file","arguments":{"path":"a.txt"},"informationalOnly":false,"callId":"g1"},"requestId":"ficc_g1","requiresConfirmation":true}`
	}
	list := append([]string{started}, streams("p1", "pick_color", "{}", "")...)
	list = append(list, streams("g1", "delete_file", `{"path":"a.txt"}`, contents)...)
	return append(list, `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success"}}`)
}

// newTurnRig is a rig before a backend that tells the turn in its first runs, and then ends each
// run.
func newTurnRig(t *testing.T, dialect string, turns [][]string, change ...func(*Options)) *rig {
	t.Helper()
	list := dialects.All()
	if errs := list.Read(map[string]string{"HOLDPOINT_TOOL_CALL_ASK": "x"}); len(errs) > 0 {
		t.Fatal(errs)
	}
	d, err := list.New(dialect, nil)
	if err != nil {
		t.Fatal(err)
	}
	change = append([]func(*Options){func(o *Options) { o.Dialect, o.StoreInMemory = d, true }}, change...)
	return newRig(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		if n <= len(turns) {
			sendStream(w, streamOf(turns[n-1]...))
			return
		}
		sendStream(w, streamOf(started, finished))
	}, change...)
}

// reached reports whether the last request to the backend holds an open call g1.
func (g *rig) reached() bool {
	found := false
	gjson.GetBytes(g.last(), "messages").ForEach(func(_, m gjson.Result) bool {
		found = found || strings.Contains(m.Raw, `"id":"g1"`)
		return !found
	})
	return found
}

// TestOpenCallOfAContinuation: a call without a result does not reach a backend that may run it,
// unless a run left it open and nobody was asked about it. What is known of the route does not
// matter, unless it is known to speak another dialect.
func TestOpenCallOfAContinuation(t *testing.T) {
	turn := turnOf(ownColor, openCallA)
	for name, c := range map[string]struct {
		turns    [][]string
		first    []string // requests before
		more     string
		messages []string
		thread   string
		reaches  bool
	}{
		"never seen":                            {messages: []string{turn, colorIs}},
		"never seen, words behind":              {messages: []string{turn, colorIs, noWords}},
		"never seen, beside a cancel":           {more: `,"resume":[{"interruptId":"ficc_g1~x","status":"cancelled"}]`, messages: []string{turn, colorIs}},
		"in two messages":                       {messages: []string{turnOf(ownColor), colorIs, strings.Replace(turnOf(openCallA), "a7", "a8", 1)}},
		"no declared tool":                      {more: ` `, messages: []string{turn, colorIs}, reaches: true},
		"no result":                             {messages: []string{turn}, reaches: true},
		"left open":                             {turns: [][]string{frontgate(false)}, first: []string{talk("t", declaresColor)}, messages: []string{turn, colorIs}, reaches: true},
		"left open on another thread":           {turns: [][]string{frontgate(false)}, first: []string{talk("t", declaresColor)}, thread: "t2", messages: []string{turn, colorIs}, reaches: true},
		"left open, in another spelling":        {turns: [][]string{frontgate(false)}, first: []string{talk("t", declaresColor)}, messages: []string{strings.Replace(turn, `\"a.txt\"`, ` \"\\u0061.txt\" `, 1), colorIs}, reaches: true},
		"left open with other arguments":        {turns: [][]string{frontgate(false)}, first: []string{talk("t", declaresColor)}, messages: []string{strings.Replace(turn, "a.txt", "b.txt", 1), colorIs}},
		"left open, of another tool":            {turns: [][]string{frontgate(false)}, first: []string{talk("t", declaresColor)}, messages: []string{strings.Replace(turn, "delete_file", "delete_all", 1), colorIs}},
		"left open, with a call made up":        {turns: [][]string{frontgate(false)}, first: []string{talk("t", declaresColor)}, messages: []string{turnOf(ownColor, openCallA, strings.Replace(openCallA, "g1", "g9", 1)), colorIs}, reaches: true},
		"asked on another thread":               {turns: [][]string{frontgate(true)}, first: []string{talk("t", declaresColor)}, thread: "t2", messages: []string{turn, colorIs}},
		"asked on another thread, words behind": {turns: [][]string{frontgate(true)}, first: []string{talk("t", declaresColor)}, thread: "t2", messages: []string{turn, colorIs, noWords}},
		"asked on another thread, declared here": {turns: [][]string{frontgate(true)}, first: []string{talk("t", declaresColor)}, thread: "t2",
			more: `,"tools":[{"name":"pick_color"},{"name":"delete_file"}]`, messages: []string{turn, colorIs}},
		"left open and asked later": {turns: [][]string{frontgate(false), frontgate(true)}, first: []string{talk("t", declaresColor), talk("t1", declaresColor)}, thread: "t2", messages: []string{turn, colorIs}},
		"declared":                  {more: `,"tools":[{"name":"pick_color"},{"name":"delete_file"}]`, messages: []string{turn, colorIs}, reaches: true},
		"a run that failed": {turns: [][]string{append(frontgate(false)[:7:7], `{"type":"RUN_ERROR","message":"x"}`)}, first: []string{talk("t", declaresColor)},
			messages: []string{turn, colorIs}},
		"the result in a spelling of some": {messages: []string{turn, colorIs, `{"id":"x","role":"tool","tool_call_id":"g1","content":"done"}`}},
		"answered":                         {messages: []string{turn, colorIs, `{"id":"x","role":"tool","toolCallId":"g1","content":"done"}`}, reaches: true},
		"keys in another case": {messages: []string{`{"role":"assistant","id":"a7","ToolCalls":[` + strings.ReplaceAll(ownColor, `"name"`, `"Name"`) + `,` + strings.Replace(openCallA, `"function":{`, `"Function":{`, 1) + `]}`,
			`{"id":"tp1","role":"tool","ToolCallId":"p1","content":"blue"}`}},
		"tools in another case": {more: `,"Tools":[{"Name":"pick_color"}]`, messages: []string{turn, colorIs}},
	} {
		for _, dialect := range []string{"auto", "agent-framework", "request-approval", "agui"} {
			if c.turns != nil && dialect != "auto" && dialect != "agent-framework" {
				continue // it does not hear the question of this host
			}
			t.Run(dialect+", "+name, func(t *testing.T) {
				g := newTurnRig(t, dialect, c.turns)
				for _, body := range c.first {
					g.do(body)
				}
				more, thread := c.more, "t"
				if more == "" || strings.Contains(more, "resume") {
					more += declaresColor
				}
				if c.thread != "" {
					thread = c.thread
				}
				before := g.called()
				told := g.do(talk(thread, more, c.messages...))
				if strings.Contains(more, "resume") {
					if g.called() != before || !strings.Contains(told, "UNKNOWN_INTERRUPT_ID") {
						before = g.called() - 1 // the entry was taken out, and the run went on
					} else {
						told = g.do(talk(thread, declaresColor, append(c.messages, noWords)...))
					}
				}
				if g.called() != before+1 {
					t.Fatalf("the backend was not asked: %s", told)
				}
				if got := g.reached(); got != c.reaches {
					t.Errorf("the call reached the backend: %v, want %v\n%s", got, c.reaches, g.last())
				}
			})
		}
	}
}

// TestOpenCallLeavesItsMessage: a call that is taken out leaves its message, whose place, id and
// other members stay. ag-ui-langgraph reads fewer messages than it has as a journey back in time.
func TestOpenCallLeavesItsMessage(t *testing.T) {
	for name, c := range map[string]struct{ message, want string }{
		"beside another call": {turnOf(ownColor, openCallA), `{"role":"assistant","toolCalls":[` + ownColor + `],"id":"a7"}`},
		"alone":               {turnOf(openCallA), `{"role":"assistant","id":"a7","content":""}`},
		"alone, content null": {`{"id":"a7","role":"assistant","content":null,"toolCalls":[` + openCallA + `],"name":"x"}`, `{"id":"a7","role":"assistant","content":"","name":"x"}`},
		"with words":          {`{"id":"a7","role":"assistant","content":"Now","toolCalls":[` + openCallA + `]}`, `{"id":"a7","role":"assistant","content":"Now"}`},
	} {
		t.Run(name, func(t *testing.T) {
			g := newTurnRig(t, "auto", nil)
			turn := []string{c.message, colorIs}
			if !strings.Contains(c.message, "p1") {
				turn = []string{strings.Replace(turnOf(ownColor), "a7", "a6", 1), colorIs, c.message}
			}
			g.do(talk("t", declaresColor, turn...))
			list := gjson.GetBytes(g.last(), "messages").Array()
			if len(list) != len(turn)+1 {
				t.Fatalf("%d messages of %d: %s", len(list), len(turn)+1, g.last())
			}
			if got := list[len(list)-1].Raw; c.message == turn[len(turn)-1] && got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			if got := list[1].Raw; c.message == turn[0] && got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// TestOpenCallOfAnotherDialect: where the route is known to speak a dialect whose backends run no
// call by themselves, the request passes untouched.
func TestOpenCallOfAnotherDialect(t *testing.T) {
	for _, dialect := range []string{"langgraph", "aws-strands", "adk", "agno", "mastra", "tool-call", "draft"} {
		t.Run(dialect, func(t *testing.T) {
			g := newTurnRig(t, dialect, nil)
			g.do(talk("t", declaresColor, turnOf(ownColor, openCallA), colorIs))
			if !g.reached() {
				t.Errorf("the call was taken out: %s", g.last())
			}
		})
	}
}

// TestOpenCallAfterARestart: a store that outlives Holdpoint keeps for a thread which calls its
// runs left open beside the client's own.
func TestOpenCallAfterARestart(t *testing.T) {
	turn := turnOf(ownColor, openCallA)
	for thread, reaches := range map[string]bool{"t": true, "t2": false} {
		g := newTurnRig(t, "auto", [][]string{frontgate(false)}, func(o *Options) { o.StoreInMemory = false })
		g.do(talk("t", declaresColor))
		kept := g.store
		g = newTurnRig(t, "auto", nil, func(o *Options) { o.StoreInMemory, o.Store = false, kept })
		g.do(talk(thread, declaresColor, turn, colorIs))
		if got := g.reached(); got != reaches {
			t.Errorf("%s: the call reached the backend: %v, want %v", thread, got, reaches)
		}
	}
}

// TestOpenCallAskedAboutBeforeARestart: a call that a run left open, and about which a later run
// asked, is not open after a restart, although the record has forgotten the question.
func TestOpenCallAskedAboutBeforeARestart(t *testing.T) {
	for name, turns := range map[string][][]string{
		"left open":           {frontgate(false)},
		"left open and asked": {frontgate(false), frontgate(true)},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			clock := func() time.Time { return now }
			kept := memory.New(memory.Options{Entries: 100, ReplayTTL: time.Hour, PauseRetention: time.Hour, Now: clock})
			change := func(o *Options) { o.StoreInMemory, o.Store, o.Now = false, kept, clock }
			g := newTurnRig(t, "auto", turns, change)
			for range turns {
				g.do(talk("t", declaresColor))
			}
			now = now.Add(2 * time.Hour) // the question expires
			g.do(talk("t", declaresColor))
			now = now.Add(2 * time.Hour) // the record forgets it
			g = newTurnRig(t, "auto", nil, change)
			g.do(talk("t", declaresColor, turnOf(ownColor, openCallA), colorIs))
			if got, want := g.reached(), len(turns) == 1; got != want {
				t.Errorf("the call reached the backend: %v, want %v", got, want)
			}
		})
	}
}

// TestOpenCallOfAnotherPrincipal: what a run left open to one principal is not another's.
func TestOpenCallOfAnotherPrincipal(t *testing.T) {
	for user, reaches := range map[string]bool{"ann": true, "bob": false} {
		g := newTurnRig(t, "auto", [][]string{frontgate(false)}, gated{}.by(t))
		g.as("ann", talk("t", declaresColor))
		g.as(user, talk("t2", declaresColor, turnOf(ownColor, openCallA), colorIs))
		if got := g.reached(); got != reaches {
			t.Errorf("%s: the call reached the backend: %v, want %v", user, got, reaches)
		}
	}
}

package proxy

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"holdpoint/store/memory"
	"holdpoint/store/storetest"
	"holdpoint/translate/dialects"
)

// In the turn of these tests, the model calls two tools: pick_color, which the request declares,
// and delete_file, which belongs to the backend. Once pick_color has a result, AGUI.Server (a .NET
// host) treats each call without a result as approved.
const (
	ownColor  = `{"id":"p1","type":"function","function":{"name":"pick_color","arguments":"{}"}}`
	colorIs   = `{"id":"tp1","role":"tool","toolCallId":"p1","content":"blue"}`
	openCallA = `{"id":"g1","type":"function","function":{"name":"delete_file","arguments":"{\"path\":\"a.txt\"}"}}`
)

var declaresColor = declares("pick_color")

// turnOf returns the assistant message with these calls.
func turnOf(list ...string) string {
	return `{"role":"assistant","toolCalls":[` + strings.Join(list, ",") + `],"id":"a7"}`
}

// streams returns the events of one call. contents, if not "", is the content of their rawEvent.
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

// frontgate returns the events of a turn with a call of pick_color and a call of delete_file. If
// gated is true, the host asks for approval of delete_file.
func frontgate(gated bool) []string {
	contents := ""
	if gated {
		contents = `{"$type":"toolApprovalRequest","toolCall":{"$type":"functionCall","name":"delete_file","arguments":{"path":"a.txt"},"informationalOnly":false,"callId":"g1"},"requestId":"ficc_g1","requiresConfirmation":true}`
	}
	list := append([]string{started}, streams("p1", "pick_color", "{}", "")...)
	list = append(list, streams("g1", "delete_file", `{"path":"a.txt"}`, contents)...)
	return append(list, `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success"}}`)
}

// newTurnRig returns a rig. Its backend streams the first of turns in the first run, the second in
// the second run, and so on. All later runs are empty.
func newTurnRig(t *testing.T, dialect string, turns [][]string, change ...func(*Options)) *rig {
	t.Helper()
	list := dialects.All()
	if errs := list.Read(map[string]string{"HOLDPOINT_TOOLS": "x=approval"}); len(errs) > 0 {
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

// reached reports whether the last request to the backend contains the call g1.
func (g *rig) reached() bool {
	found := false
	gjson.GetBytes(g.last(), "messages").ForEach(func(_, m gjson.Result) bool {
		found = found || strings.Contains(m.Raw, `"id":"g1"`)
		return !found
	})
	return found
}

// TestOpenCallOfAContinuation: some backends may run a call of the history that has no result. Such
// a call must not reach the backend, unless an earlier run left the call open and no question was
// about it. This must hold on every route, except a route that is known to speak another dialect.
func TestOpenCallOfAContinuation(t *testing.T) {
	turn := turnOf(ownColor, openCallA)
	for name, c := range map[string]struct {
		turns    [][]string
		first    []string // requests that are sent first
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
				continue // this dialect does not recognize the question of this host
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
						before = g.called() - 1 // the entry was removed, and the run was sent
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

// TestManyOpenCalls: all calls that a run left open must reach the backend, however many there are.
// If the store fails while Holdpoint looks these calls up, Holdpoint must not ask it again for each
// call.
func TestManyOpenCalls(t *testing.T) {
	turn, calls := append([]string{started}, streams("p1", "pick_color", "{}", "")...), []string{ownColor}
	for n := range 12 {
		id := fmt.Sprintf("s%d", n)
		turn = append(turn, streams(id, "search", `{"n":1}`, "")...)
		calls = append(calls, fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":"search","arguments":"{\"n\":1}"}}`, id))
	}
	turn = append(turn, finished)
	fails, loads := false, 0
	g := newTurnRig(t, "auto", [][]string{turn}, func(o *Options) {
		o.Store = &storetest.Faults{Store: o.Store, At: func(name string, do func() error) error {
			if name == "Load" {
				loads++
			}
			// the first Load is for the thread's own record
			if name == "Load" && fails && loads > 1 {
				return errDown
			}
			return do()
		}}
	})
	g.do(talk("t", declaresColor))
	reached := func() int { return strings.Count(string(g.last()), `"name":"search"`) }
	g.do(talk("t", declaresColor, turnOf(calls...), colorIs))
	if reached() != 12 {
		t.Errorf("%d of 12 reached the backend", reached())
	}
	fails, loads = true, 0
	g.do(talk("t", declaresColor, turnOf(calls...), colorIs))
	if reached() != 0 || loads > 3 {
		t.Errorf("the store fails: %d reached the backend, and it was asked %d times", reached(), loads)
	}
}

// TestOpenCallLeavesItsMessage: Holdpoint removes a call from a message. The message must keep its
// place, its id and its other members. If the whole message were missing, ag-ui-langgraph would
// rewind the graph to an earlier state.
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

// TestOpenCallOfAnotherDialect: the route is known to speak a dialect whose backends never run a
// call that is in the history of a request. Holdpoint must send the history unchanged.
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

// TestOpenCallAfterARestart: the runs of a thread left calls open, and Holdpoint restarts. If the
// store outlives the process, it must still know these calls.
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

// TestOpenCallAskedAboutBeforeARestart: a run left a call open, and a later run asked about it.
// After a restart the call must not count as open, even if the record has forgotten the question.
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
			now = now.Add(2 * time.Hour) // now the question has expired
			g.do(talk("t", declaresColor))
			now = now.Add(2 * time.Hour) // now the record has forgotten the question
			g = newTurnRig(t, "auto", nil, change)
			g.do(talk("t", declaresColor, turnOf(ownColor, openCallA), colorIs))
			if got, want := g.reached(), len(turns) == 1; got != want {
				t.Errorf("the call reached the backend: %v, want %v", got, want)
			}
		})
	}
}

// TestOpenCallOfAnotherPrincipal: a run of one principal left a call open. When another principal
// sends the call, it must not count as open.
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

// TestCallOfALostQuestion: a client has answered a question that is in no record. A backend that
// keeps no threads refuses a history in which a call has no result. So if a user message follows,
// Holdpoint must remove the call of the lost question from its message. Holdpoint may do this only
// if the id of the question has the form that such a backend uses, and only on a path that is not
// known to speak another dialect.
func TestCallOfALostQuestion(t *testing.T) {
	const lost, emptied = "ficc_g1~AAAAAAAAAAAA", `{"role":"assistant","id":"a7","content":""}`
	turn := turnOf(openCallA)
	answer := func(id, status string) string {
		return fmt.Sprintf(`,"resume":[{"interruptId":%q,"status":%q,"payload":{"approved":true}}]`, id, status)
	}
	for name, c := range map[string]struct {
		dialects string
		before   string // members of a request that is sent first
		messages []string
		more     string
		want     string // the message with the call as the backend must get it; "" if unchanged
	}{
		"an answer before":                   {before: answer(lost, "resolved"), messages: []string{turn, noWords}, want: emptied},
		"an answer under the native id":      {before: answer("ficc_g1", "resolved"), messages: []string{turn, noWords}, want: emptied},
		"a cancel beside the words":          {messages: []string{turn, noWords}, more: answer(lost, "cancelled"), want: emptied},
		"of another call of the turn":        {before: answer("ficc_g9~AAAAAAAAAAAA", "resolved"), messages: []string{turn, noWords}, want: emptied},
		"beside words of the assistant":      {before: answer(lost, "resolved"), messages: []string{strings.Replace(turn, `"toolCalls"`, `"content":"Now","toolCalls"`, 1), noWords}, want: `{"role":"assistant","content":"Now","id":"a7"}`},
		"declared":                           {before: answer(lost, "resolved"), messages: []string{turn, noWords}, more: `,"tools":[{"name":"delete_file"}]`},
		"answered":                           {before: answer(lost, "resolved"), messages: []string{turn, `{"id":"x","role":"tool","toolCallId":"g1","content":"done"}`, noWords}},
		"no words behind":                    {before: answer(lost, "resolved"), messages: []string{turn}},
		"nothing is named":                   {messages: []string{turn, noWords}},
		"the id of the call":                 {before: answer("g1~AAAAAAAAAAAA", "resolved"), messages: []string{turn, noWords}},
		"LangGraph's id":                     {before: answer("95b93ade5d71718992515f7daf83c1ce~AAAAAAAAAAAA", "resolved"), messages: []string{turn, noWords}},
		"an id of Strands":                   {before: answer("v1:tool_call:g1:2f08e8d1-19f3-59aa-90a6-72d00b90ee01~AAAAAAAAAAAA", "resolved"), messages: []string{turn, noWords}},
		"an id of ADK":                       {before: answer("adk-5cc7e836-a337-44dd-924c-bd271283c1a3~AAAAAAAAAAAA", "resolved"), messages: []string{turn, noWords}},
		"an id of Mastra":                    {before: answer("r1::g1~AAAAAAAAAAAA", "resolved"), messages: []string{turn, noWords}},
		"an id of pydantic-ai":               {before: answer("int-g1~AAAAAAAAAAAA", "resolved"), messages: []string{turn, noWords}},
		"an id of Agent Framework in Python": {before: answer("af-call-16fe649955ea4e4d8f380250eddf7b28~AAAAAAAAAAAA", "resolved"), messages: []string{turn, noWords}},
		"an id of AG2":                       {before: answer("e8d9c062-032c-4b21-a513-a779808923a4~AAAAAAAAAAAA", "resolved"), messages: []string{turn, noWords}},
		"an id of CrewAI":                    {before: answer("t~AAAAAAAAAAAA", "resolved"), messages: []string{turn, noWords}},
		"a path that the host's questions for input taught": {dialects: "agui", before: answer(lost, "resolved"), messages: []string{turn, noWords}, want: emptied},
		"another dialect": {dialects: "langgraph aws-strands adk agno mastra tool-call draft", before: answer(lost, "resolved"), messages: []string{turn, noWords}},
	} {
		dialects := c.dialects
		if dialects == "" {
			dialects = "auto"
		}
		for _, dialect := range strings.Fields(dialects) {
			t.Run(dialect+", "+name, func(t *testing.T) {
				g := newTurnRig(t, dialect, nil)
				if c.before != "" {
					if told := g.do(talk("t", c.before, turn)); !strings.Contains(told, "UNKNOWN_INTERRUPT_ID") {
						t.Fatalf("the answer is told as %s", told)
					}
				}
				g.do(talk("t", c.more, c.messages...))
				list := gjson.GetBytes(g.last(), "messages").Array()
				if len(list) != len(c.messages)+1 {
					t.Fatalf("%d messages of %d: %s", len(list), len(c.messages)+1, g.last())
				}
				want := c.want
				if want == "" {
					want = c.messages[0]
				}
				if got := list[1].Raw; got != want {
					t.Errorf("%s, want %s", got, want)
				}
			})
		}
	}
}

// TestCallOfALostQuestionOnAnotherThread: a .NET client that keeps no thread answers a lost
// question on one thread and continues on another thread. Holdpoint must remove a call without a
// result only if the chat contains the call of the lost question, on the same path and for the same
// principal.
func TestCallOfALostQuestionOnAnotherThread(t *testing.T) {
	const emptied = `{"role":"assistant","id":"a7","content":""}`
	both := turnOf(openCallA, strings.ReplaceAll(openCallA, "g1", "g2"))
	other := strings.ReplaceAll(turnOf(openCallA), "g1", "g3")
	for name, c := range map[string]struct {
		dialect, path, user string
		// the first message of the chat; "" if it is the same as in the request with the answer
		begins     string
		turn, want string
	}{
		"its call":                       {turn: turnOf(openCallA), want: emptied},
		"another chat":                   {begins: `{"id":"u5","role":"user","content":"hello"}`, turn: turnOf(openCallA), want: turnOf(openCallA)},
		"another chat, same words":       {begins: `{"id":"u5","role":"user","content":"hi"}`, turn: turnOf(openCallA), want: turnOf(openCallA)},
		"another chat of the principal":  {user: "ann", begins: `{"id":"u5","role":"user","content":"hello"}`, turn: turnOf(openCallA), want: emptied},
		"beside another call":            {turn: both, want: emptied},
		"another call":                   {turn: other, want: other},
		"another path":                   {path: "/other", turn: turnOf(openCallA), want: turnOf(openCallA)},
		"of the same principal":          {user: "ann", turn: turnOf(openCallA), want: emptied},
		"of another principal":           {user: "bob", turn: turnOf(openCallA), want: turnOf(openCallA)},
		"where the dialect is known":     {dialect: "agent-framework", turn: turnOf(openCallA), want: emptied},
		"where another dialect is known": {dialect: "langgraph", turn: turnOf(openCallA), want: turnOf(openCallA)},
	} {
		t.Run(name, func(t *testing.T) {
			dialect, change := cmp.Or(c.dialect, "auto"), func(*Options) {}
			if c.user != "" {
				change = gated{}.by(t)
			}
			g := newTurnRig(t, dialect, nil, change)
			send := func(user, path, body string) string {
				if c.user != "" {
					return g.as(user, body)
				}
				_, told := post(t, g.front.URL+path, "application/json", body)
				return told
			}
			lost := `,"resume":[{"interruptId":"ficc_g1","status":"resolved","payload":{"approved":true}}]`
			if told := send("ann", "/", talk("t", lost, both)); !strings.Contains(told, "UNKNOWN_INTERRUPT_ID") {
				t.Fatalf("the answer is told as %s", told)
			}
			send(c.user, cmp.Or(c.path, "/"), strings.Replace(talk("t2", "", c.turn, noWords), oldUser, cmp.Or(c.begins, oldUser), 1))
			if got := gjson.GetBytes(g.last(), "messages.1").Raw; got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// TestLostQuestionBesideAClientsCall: Holdpoint removed a call from the messages, and the backend
// refuses the run because it still waits for the answer to a question. Holdpoint must recognize
// this lost question by the removed call, and ask the client about it.
func TestLostQuestionBesideAClientsCall(t *testing.T) {
	for name, c := range map[string]struct{ refusal, id string }{
		"Agent Framework": {`{"type":"RUN_ERROR","message":"Pending interrupts require a resume entry for every interruptId.","code":"APPROVAL_RESUME_REQUIRED"}`, "g1~"},
		"ag_ui_strands":   {`{"type":"RUN_ERROR","message":"Thread has pending interrupts. Include resume[] to address them.","code":"PENDING_INTERRUPTS"}`, "v1:before_tool_call:g1:"},
	} {
		t.Run(name, func(t *testing.T) {
			turns := [][]string{{started, c.refusal}}
			// First Holdpoint asks ag_ui_strands for the id of its question, by a resume with an id
			// that does not exist. This is the refusal of that resume.
			if name == "ag_ui_strands" {
				turns = append(turns, []string{started, `{"type":"RUN_ERROR","message":"Resume references an interrupt that is not open: v1:before_tool_call:holdpoint:00000000-0000-5000-8000-000000000000","code":"INTERRUPT_RESUME_ERROR"}`})
			}
			g := newTurnRig(t, "auto", turns)
			told := g.do(talk("t", declaresColor, turnOf(ownColor, openCallA), colorIs))
			if g.reached() {
				t.Errorf("the call reached the backend: %s", g.last())
			}
			if !strings.Contains(told, `"reason":"holdpoint:lost_question"`) || !strings.Contains(told, `"interrupts":[{"id":"`+c.id) {
				t.Errorf("told as %s", told)
			}
			if !strings.Contains(told, `"type":"MESSAGES_SNAPSHOT"`) || !strings.Contains(told, `"id":"g1"`) {
				t.Errorf("the client loses the call: %s", told)
			}
			g.do(talk("t", declaresColor, turnOf(ownColor, openCallA), colorIs, noWords))
			if name == "Agent Framework" && !g.reached() {
				t.Errorf("the call does not reach a backend that is known: %s", g.last())
			}
			cancels := func(body []byte) bool { return gjson.GetBytes(body, "resume.0.status").Str == "cancelled" }
			if name == "Agent Framework" && !slices.ContainsFunc(g.calls, cancels) {
				t.Errorf("the next message does not cancel: %s", g.last())
			}
		})
	}
}

// TestOpenCallWithoutARecord: the record of a question cannot be read, has forgotten the question,
// or does not exist because the question is older than Holdpoint. The call of the question must not
// reach the backend, whatever the client sends together with the result of its own tool.
func TestOpenCallWithoutARecord(t *testing.T) {
	turn := []string{turnOf(ownColor, openCallA), colorIs}
	answer := func(id, rest string) string {
		return fmt.Sprintf(`,"resume":[{"interruptId":%q,%s}]`, id, rest)
	}
	for situation, prepare := range map[string]func(t *testing.T, native func(*Options)) (g *rig, id string){
		"the store is away": func(t *testing.T, native func(*Options)) (*rig, string) {
			down := &downStore{}
			g := newTurnRig(t, "auto", [][]string{frontgate(true)}, native, func(o *Options) { down.Store, o.Store, o.StoreOutage = o.Store, down, OutagePass })
			g.do(talk("t", declaresColor))
			down.load = true
			return g, "ficc_g1"
		},
		"the store is away from the start": func(t *testing.T, native func(*Options)) (*rig, string) {
			down := &downStore{load: true}
			return newTurnRig(t, "auto", nil, native, func(o *Options) { down.Store, o.Store, o.StoreOutage = o.Store, down, OutagePass }), "ficc_g1"
		},
		"the record was given up for another": func(t *testing.T, native func(*Options)) (*rig, string) {
			g := newTurnRig(t, "auto", [][]string{frontgate(true), {started, finished}, frontgate(true)}, native, func(o *Options) {
				o.Store = memory.New(memory.Options{Entries: 1, ReplayTTL: time.Hour, PauseRetention: time.Hour})
			})
			told := g.do(talk("t", declaresColor))
			id := "ficc_g1"
			if _, rest, published := strings.Cut(told, `"interrupts":[{"id":"`); published {
				id, _, _ = strings.Cut(rest, `"`)
			}
			g.do(talk("t", declaresColor+answer(id, `"status":"resolved","payload":{"approved":false}`), turn...))
			g.do(talk("t9", declaresColor))
			return g, id
		},
		"asked before Holdpoint stood there": func(t *testing.T, native func(*Options)) (*rig, string) {
			return newTurnRig(t, "auto", nil, native), "ficc_g1"
		},
	} {
		for form, native := range map[string]func(*Options){"told by Holdpoint": func(*Options) {}, "native": func(o *Options) { o.Client = ClientNative }} {
			for name, more := range map[string]func(id string) (string, []string){
				"the result alone": func(string) (string, []string) { return "", turn },
				"words behind":     func(string) (string, []string) { return "", append(turn[:2:2], noWords) },
				"a yes": func(id string) (string, []string) {
					return answer(id, `"status":"resolved","payload":{"approved":true}`), turn
				},
				"a no": func(id string) (string, []string) {
					return answer(id, `"status":"resolved","payload":{"approved":false}`), turn
				},
				"a cancel": func(id string) (string, []string) { return answer(id, `"status":"cancelled"`), turn },
				"a cancel beside words": func(id string) (string, []string) {
					return answer(id, `"status":"cancelled"`), append(turn[:2:2], noWords)
				},
			} {
				t.Run(situation+", "+form+", "+name, func(t *testing.T) {
					g, id := prepare(t, native)
					before := g.called()
					with, messages := more(id)
					told := g.do(talk("t", declaresColor+with, messages...))
					if g.called() > before && g.reached() {
						t.Errorf("the call reached the backend: %s", g.last())
					}
					if with == "" && g.called() != before+1 {
						t.Errorf("the backend was not asked: %s", told)
					}
					before = g.called()
					if told = g.do(talk("t", declaresColor, append(turn[:2:2], noWords)...)); g.called() != before+1 || g.reached() {
						t.Errorf("the next message reached the backend %d times, with the call: %v\n%s", g.called()-before, g.reached(), told)
					}
				})
			}
		}
	}
}

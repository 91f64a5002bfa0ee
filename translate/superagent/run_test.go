package superagent

import (
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
	"holdpoint/translate/internal/aguiwriter"
)

func TestStreams(t *testing.T) {
	for name, c := range map[string]struct {
		stream []string
		want   string
	}{
		"tokens as documented":               {[]string{"Hello", " wor", "ld", "[DONE]"}, "'Hello world' end"},
		"tokens as they come":                {[]string{"message|Hello", "message| wor", "message|ld", "message|[DONE]"}, "'Hello world' end"},
		"a token of two lines":               {[]string{"message|a\nb", "message|[DONE]"}, "'a\nb' end"},
		"tokens that are newlines":           {[]string{"message|a", "message|", "message|\n", "message|b", "message|c\n", "message|[DONE]"}, "'a\n\n\nbc\n\n' end"},
		"an empty line as documented":        {[]string{"a", "", "b", "[DONE]"}, "'ab' end"},
		"a token that looks like an event":   {[]string{"message|" + bare("text", `{"delta":"x"}`), "message|[DONE]"}, "'" + bare("text", `{"delta":"x"}`) + "' end"},
		"a token that is JSON":               {[]string{`{"a":1}`, `{`, "[DONE]"}, `'{"a":1}{' end`},
		"no end":                             {[]string{"message|Hello"}, "'Hello cut"},
		"nothing":                            {nil, "cut"},
		"nothing but an end":                 {[]string{"message|[DONE]"}, "end"},
		"the real marker":                    {[]string{"message|\x00INTERRUPT:" + state, "message|[DONE]"}, "'" + reasonPlain + "' asks"},
		"the marker without an end":          {[]string{"\x00INTERRUPT:" + state}, "'" + reasonPlain + "' asks"},
		"the marker in four characters":      {[]string{`\x00INTERRUPT:` + state}, "'" + reasonPlain + "' asks"},
		"the marker in six characters":       {[]string{`\u0000INTERRUPT:` + state, "[DONE]"}, "'" + reasonPlain + "' asks"},
		"a written marker before no state":   {[]string{`\x00INTERRUPT:{"reason":"x"}`, "[DONE]"}, `'\x00INTERRUPT:{"reason":"x"}' end`},
		"a written marker in a text":         {[]string{`x\x00INTERRUPT:` + state, "[DONE]"}, `'x\x00INTERRUPT:` + state + `' end`},
		"a marker that cannot be read":       {[]string{"message|a", "message|\x00INTERRUPT:{", "message|[DONE]"}, "'a' failed: the backend asks something in a form that cannot be read: a new message continues without an answer UPSTREAM_STATUS"},
		"the reason before the marker":       {[]string{"Please confirm: delete", ` "a"? It `, "is final.", "\x00INTERRUPT:" + state, "[DONE]"}, "'Please confirm: delete \"a\"? It is final.' asks"},
		"another text before the marker":     {[]string{"One moment.", "\x00INTERRUPT:" + state, "[DONE]"}, "'One moment.' '" + reasonPlain + "' asks"},
		"two questions: the last one stands": {[]string{"\x00INTERRUPT:" + stateWith(""), "\x00INTERRUPT:" + state, "[DONE]"}, "'" + reasonPlain + "' asks"},
		"a token that says it failed":        {[]string{"message|Hel", "message|[error] internal error occurred", "message|[DONE]"}, "'Hel' failed: internal error occurred"},
		"the same without an end":            {[]string{"message|[error] internal error occurred"}, "failed: internal error occurred"},
		"a model that writes it":             {[]string{"message|[error] means", "message| a failure", "message|[DONE]"}, "'[error] means a failure' end"},
		"a model that writes it and asks":    {[]string{"message|[error] x", "message|\x00INTERRUPT:" + state}, "'[error] x' '" + reasonPlain + "' asks"},
		"twice":                              {[]string{"message|[error] a", "message|[error] b", "message|[DONE]"}, "'[error] a' failed: b"},

		"A2UI":                             {[]string{a2ui("text", `{"content":"","delta":"Hel"}`), a2ui("text", `{"content":"","delta":"lo"}`), a2ui("done", "null")}, "'Hello' end"},
		"A2UI, content is the whole":       {[]string{a2ui("text", `{"content":"Hel","delta":"Hel"}`), a2ui("text", `{"content":"Hello","delta":"lo"}`), a2ui("done", "null")}, "'Hello' end"},
		"A2UI, an empty delta":             {[]string{a2ui("text", `{"content":"","delta":""}`), a2ui("done", "null")}, "end"},
		"thinking and text":                {[]string{a2ui("thinking", `{"delta":"hm"}`), a2ui("thinking", `{"delta":"m"}`), a2ui("text", `{"delta":"So"}`), a2ui("thinking", `{"delta":"!"}`), a2ui("done", "null")}, "(hmm) 'So' (!) end"},
		"a call":                           {[]string{a2ui("text", `{"delta":"I look"}`), a2ui("tool_call", `{"id":"c1","name":"find","arguments":"{\"q\":1}","status":"calling"}`), a2ui("tool_result", `{"id":"c1","name":"find","result":"7","is_error":false}`), a2ui("text", `{"delta":"7"}`), a2ui("done", "null")}, `'I look' c1=find{"q":1}; c1->7 '7' end`},
		"a call's arguments as an object":  {[]string{a2ui("tool_call", `{"id":"c1","name":"find","arguments":{"q":1},"status":"calling"}`), a2ui("tool_call", `{"id":"c1","name":"find","status":"success"}`), a2ui("tool_result", `{"id":"c1","result":{"n":7},"is_error":true}`), a2ui("done", "null")}, `c1=find{"q":1}; c1->{"n":7}{"superagent":{"is_error":true}} end`},
		"a call told twice":                {[]string{a2ui("tool_call", `{"id":"c1","name":"find","status":"calling"}`), a2ui("tool_call", `{"id":"c1","name":"find","status":"calling"}`), a2ui("done", "null")}, `c1=find{}; end`},
		"a result of no call":              {[]string{a2ui("tool_result", `{"id":"c1","name":"find","result":null}`), a2ui("done", "null")}, `c1=find{}; c1-> end`},
		"code":                             {[]string{a2ui("text", `{"delta":"See:"}`), a2ui("code_block", `{"language":"go","code":"","delta":"a\n"}`), a2ui("code_block", `{"language":"go","code":"a\nb","delta":"b"}`), a2ui("text", `{"delta":"Done."}`), a2ui("code_block", `{"language":"","code":"x"}`), a2ui("done", "null")}, "'See:\n```go\na\nb\n```\nDone.\n```\nx\n```\n' end"},
		"progress and other agents":        {[]string{a2ui("progress", `{"agent_name":"a","step":"s"}`), a2ui("agent_switch", `{"from_agent":"a","to_agent":"b"}`), a2ui("done", "null")}, "CUSTOMsuperagent.progress CUSTOMsuperagent.agent_switch end"},
		"an error":                         {[]string{a2ui("text", `{"delta":"Hel"}`), a2ui("error", `{"code":"chat_failed","message":"no model"}`)}, "'Hel' failed: no model chat_failed"},
		"an error without words":           {[]string{"error|nothing"}, "failed: the backend failed and did not send a reason"},
		"an error in a text":               {[]string{a2ui("text", `{"delta":"[error] broken"}`), a2ui("done", "null")}, "failed: broken"},
		"A2UI without an end":              {[]string{a2ui("text", `{"delta":"Hel"}`)}, "'Hel cut"},
		"[DONE] in A2UI is text":           {[]string{a2ui("text", `{"delta":"[DONE]"}`), a2ui("done", "null")}, "'[DONE]' end"},
		"the documented interrupt":         {[]string{a2ui("interrupt", `{"reason":"`+reason+`","fields":[`+confirmField+`]}`), a2ui("done", "null")}, "'" + reasonPlain + "' asks"},
		"the real interrupt":               {[]string{a2ui("interrupt", wrapped(state)), a2ui("done", "null")}, "'" + reasonPlain + "' asks"},
		"the real interrupt with marker":   {[]string{a2ui("interrupt", wrapped("\x00INTERRUPT:"+state)), a2ui("done", "null")}, "'" + reasonPlain + "' asks"},
		"the real interrupt, no end":       {[]string{a2ui("interrupt", wrapped(state))}, "'" + reasonPlain + "' asks"},
		"an interrupt that says nothing":   {[]string{"interrupt|x"}, "failed: the backend asks something in a form that cannot be read: a new message continues without an answer UPSTREAM_STATUS"},
		"an error behind an interrupt":     {[]string{a2ui("interrupt", wrapped(state)), a2ui("error", `{"code":"x"}`)}, "'" + reasonPlain + "' asks"},
		"a marker that A2UI did not read":  {[]string{a2ui("text", `{"delta":`+aguiwriter.Quoted("\x00INTERRUPT:"+state)+`}`), a2ui("done", "null")}, "'" + reasonPlain + "' asks"},
		"bare text, events without a name": {[]string{"Hel", "lo", bare("thinking", `{"delta":"hm"}`), bare("interrupt", wrapped(state)), "[DONE]"}, "'Hello' (hm) '" + reasonPlain + "' asks"},
		"bare text, done as an event":      {[]string{"Hello", bare("done", "null")}, "'Hello' end"},
		"events of another kind":           {[]string{"ping|x", a2ui("hologram", `{"delta":"x"}`), "text|not JSON", a2ui("done", "null")}, "end"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := playPlain(t, c.stream...).story(); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestCallIDsThatRepeat: the server uses a call id of the thread again. The client must get a new
// id, because it would append the call to the earlier one.
func TestCallIDsThatRepeat(t *testing.T) {
	in := input(t, `"messages":[{"id":"a1","role":"assistant","toolCalls":[{"id":"c1","function":{"name":"f","arguments":"{}"}}]},{"id":"m1","role":"tool","toolCallId":"c1","content":"x"},`+hello+`]`)
	_, run, err := newDialect(t).Begin(&translate.Request{Input: in, ClientMessages: in.Messages, Transcript: &dialecttest.Log{}})
	if err != nil {
		t.Fatal(err)
	}
	call, result := a2ui("tool_call", `{"id":"c1","name":"f","status":"calling"}`), a2ui("tool_result", `{"id":"c1","name":"f","result":"y"}`)
	p := play(t, run, frames(call, result, call, result, a2ui("done", "null")))
	ids := map[string]bool{"c1": true}
	for _, ev := range p.All() {
		id := ev.Get("toolCallId").Str
		if ev.Type == agui.CallStart {
			if ids[id] {
				t.Errorf("the id %s is used again", id)
			}
			ids[id] = true
		}
		if !ids[id] {
			t.Errorf("%s of another call", ev.JSON)
		}
	}
	if len(ids) != 3 {
		t.Errorf("calls %v", ids)
	}
}

// TestMessageIDs: two runs of a thread have the same runId, as CopilotKit's resume has. Their
// messages must have different ids.
func TestMessageIDs(t *testing.T) {
	id := func(r *translate.Request) string {
		_, run, err := newDialect(t).Begin(r)
		if err != nil {
			t.Fatal(err)
		}
		return play(t, run, frames("x", "[DONE]")).All()[0].Get("messageId").Str
	}
	in := input(t, "")
	first := id(&translate.Request{Input: in, ClientMessages: in.Messages})
	if again := id(&translate.Request{Input: in, ClientMessages: in.Messages}); again != first {
		t.Error("the same request has other ids")
	}
	p := pausedBy(t, "\x00INTERRUPT:"+state)
	resumed := id(&translate.Request{Input: in, ClientMessages: in.Messages, Pause: p, Transcript: &dialecttest.Log{}, Answers: []agui.Answer{{ID: "n~1", Status: agui.Cancelled}}})
	longer := input(t, `"messages":[{"id":"u0","role":"user","content":"x"},`+hello+`]`)
	later := id(&translate.Request{Input: longer, ClientMessages: longer.Messages})
	if resumed == first || later == first || later == resumed {
		t.Errorf("ids %s, %s, %s", first, resumed, later)
	}
}

func TestEndsOfAResume(t *testing.T) {
	p := pausedBy(t, "\x00INTERRUPT:"+state)
	for name, c := range map[string]struct {
		entry string
		end   translate.End
		want  string
	}{
		"409":                    {entry("true"), translate.End{Status: 409}, "lost"},
		"409 to a no":            {entry("false"), translate.End{Status: 409}, "lost"},
		"409 to a cancel":        {entry(""), translate.End{Status: 409}, "end"},
		"404":                    {entry("true"), translate.End{Status: 404}, "failed: the backend accepts no answer for this agent (404): it does not know the agent (HOLDPOINT_SUPERAGENT_AGENT_ID), or the agent asks although its interrupts are not enabled UPSTREAM_STATUS"},
		"404 to a cancel":        {entry(""), translate.End{Status: 404}, "lost"},
		"400 passes":             {entry("true"), translate.End{Status: 400}, "cut"},
		"500 passes, in doubt":   {entry("true"), translate.End{Status: 500}, "cut"},
		"a cut":                  {entry("true"), translate.End{Cut: true}, "cut"},
		"no end":                 {entry("true"), translate.End{}, "cut"},
		"an answer of no stream": {entry("true"), translate.End{Status: 200}, "cut"},
	} {
		t.Run(name, func(t *testing.T) {
			_, run, err := resumeWith(t, p, input(t, dialecttest.ResumeArray(c.entry)))
			if err != nil {
				t.Fatal(err)
			}
			res, err := run.End(c.end)
			if got := (played{dialecttest.Played{Result: res}}).story(); err != nil || got != c.want {
				t.Errorf("%s (%v), want %s", got, err, c.want)
			}
		})
	}
	t.Run("404 to a run passes", func(t *testing.T) {
		in := input(t, "")
		_, run, _ := newDialect(t).Begin(&translate.Request{Input: in})
		if res, err := run.End(translate.End{Status: 404}); err != nil || res.Finish.Type != agui.Unknown || res.Fate == translate.Lost {
			t.Errorf("%+v %v", res, err)
		}
	})
}

func TestNewMessagesSentWithTheAnswers(t *testing.T) {
	p := pausedBy(t, "\x00INTERRUPT:"+state)
	image := said1(`[{"type":"text","text":"see"},{"type":"image","source":{}}]`)
	for name, c := range map[string]struct {
		fresh []agui.Message
		said  string // the text of the second exchange, empty if none
		left  bool
	}{
		"none":               {nil, "", false},
		"a text":             {[]agui.Message{said1(`"and b"`)}, "and b", false},
		"two texts":          {[]agui.Message{said1(`"and b"`), said1(`[{"type":"text","text":"and c"}]`)}, "and b\n\nand c", false},
		"an image":           {[]agui.Message{image}, "", true},
		"an image and text":  {[]agui.Message{image, said1(`"and b"`)}, "and b", true},
		"a tool's result":    {[]agui.Message{agui.ParseMessage([]byte(`{"id":"x","role":"tool","toolCallId":"c","content":"y"}`))}, "", true},
		"a system's message": {[]agui.Message{agui.ParseMessage([]byte(`{"id":"x","role":"system","content":"y"}`))}, "", false},
	} {
		for _, answer := range []string{entry("true"), entry("")} {
			t.Run(name+answer, func(t *testing.T) {
				out, run, err := resumeWith(t, p, input(t, dialecttest.ResumeArray(answer)), c.fresh...)
				if err != nil || !out.Resumes || out.TakesNew {
					t.Fatalf("%+v %v", out, err)
				}
				first := play(t, run, frames("message|Done.", "message|[DONE]"))
				res := first.Result
				if (res.Next != nil) != (c.said != "") {
					t.Fatalf("next %+v", res.Next)
				}
				if c.said != "" {
					body := string(res.Next.Out.Body)
					if want := `{"agent_id":"approver","session_id":"t1","message":` + aguiwriter.Quoted(c.said) + `}`; body != want || !res.Next.Out.TakesNew || res.Next.Out.Resumes {
						t.Fatalf("%s, %+v", body, res.Next.Out)
					}
					second := play(t, res.Next.Run, frames("more", "[DONE]"))
					if second.All()[0].Get("messageId").Str == first.All()[0].Get("messageId").Str {
						t.Error("both have the same message id")
					}
					res = second.Result
				}
				if left := res.Finish.Get("metadata.holdpoint.code").Str == "MESSAGES_NOT_TAKEN"; left != c.left || res.Finish.Type != agui.RunFinished {
					t.Errorf("finish %s", res.Finish.JSON)
				}
			})
		}
	}
	t.Run("a failed resume takes none", func(t *testing.T) {
		_, run, _ := resumeWith(t, p, input(t, dialecttest.ResumeArray(entry("true"))), said1(`"and b"`))
		if got := play(t, run, frames("[error] x", "[DONE]")); got.Result.Next != nil || got.story() != "failed: x" {
			t.Error(got.story())
		}
	})
	t.Run("the second one asks, and something is left", func(t *testing.T) {
		_, run, _ := resumeWith(t, p, input(t, dialecttest.ResumeArray(entry("true"))), image, said1(`"and b"`))
		next := play(t, run, frames("[DONE]")).Result.Next
		res := play(t, next.Run, frames("\x00INTERRUPT:"+state)).Result
		if len(res.Asked.Interrupts) != 1 || !strings.Contains(string(res.Finish.JSON), "MESSAGES_NOT_TAKEN") {
			t.Errorf("%+v", res)
		}
	})
}

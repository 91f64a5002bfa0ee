package langgraphserver

import (
	"slices"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

func TestThreadIDs(t *testing.T) {
	own := "01a1f73b-2ab2-76bb-9321-d12c6149d29d"
	if threadOf(own) != own {
		t.Errorf("a uuid became %s", threadOf(own))
	}
	derived := threadOf("t1")
	for _, id := range []string{"t1", "", strings.ToUpper(own), derived, own + "\n", "../../x", own[:35]} {
		got := threadOf(id)
		if got == id || len(got) != 36 || got[14] != '8' || got != threadOf(id) {
			t.Errorf("%q became %q", id, got)
		}
	}
	if derived == threadOf("t2") || threadOf(derived) == derived {
		t.Error("two ids name one thread")
	}
}

func TestPlaces(t *testing.T) {
	d := newDialect(t)
	for path, want := range map[string]bool{
		"/": true, "": true, "/threads": true, "/threads/x/runs/stream": true, "/runs/wait": true, "/threads/x/state": true,
		"/a2a/agent": true, "/mcp": true, "/api/threads/x/runs": true, "/assistants/search": false, "/ok": false, "/store/items": false,
	} {
		if route, ok := d.Route(path); ok != want || route != "/" {
			t.Errorf("%s: %s %v", path, route, ok)
		}
	}
}

func TestWhatAnInputHas(t *testing.T) {
	had := `{"values":{"messages":[{"id":"u1","type":"human","content":"hi"},{"id":"a1","type":"ai","content":"","tool_calls":[{"id":"c1","name":"f","args":{}}]},{"id":"s1","type":"tool","tool_call_id":"c1","content":"x"}],"mood":"good","log":[1]},"next":[],"tasks":[]}`
	for name, c := range map[string]struct{ more, want string }{
		"a new thread's":        {`"messages":[` + hello + `]`, `{"messages":[{"id":"u1","type":"human","content":"hi"}]}`},
		"known ones stay":       {`"messages":[` + hello + `,{"id":"u2","role":"user","content":"more"}]`, `{"messages":[{"id":"u2","type":"human","content":"more"}]}`},
		"a result that it has":  {`"messages":[{"id":"other","role":"tool","toolCallId":"c1","content":"x"}]`, `{"messages":[]}`},
		"a client's result":     {`"messages":[{"id":"r","role":"tool","toolCallId":"c2","content":"x","error":"no"}]`, `{"messages":[{"id":"r","type":"tool","content":"x","tool_call_id":"c2","status":"error"}]}`},
		"instructions":          {`"messages":[{"id":"s","role":"system","content":"x"},{"id":"d","role":"developer","content":"y"}]`, `{"messages":[]}`},
		"state that is changed": {`"messages":[],"state":{"mood":"bad","log":[1],"messages":[],"more":{}}`, `{"messages":[],"mood":"bad","more":{}}`},
		"state that is a list":  {`"messages":[],"state":[{"mood":"bad"},1]`, `{"messages":[]}`},
		"state that is a text":  {`"messages":[],"state":"bad"`, `{"messages":[]}`},
		"tools":                 {`"messages":[],"tools":[{"name":"f","description":"d","parameters":{}}]`, `{"messages":[],"tools":[{"type":"function","name":"f","function":{"name":"f","description":"d","parameters":{}}}],"ag-ui":{"tools":[{"type":"function","name":"f","function":{"name":"f","description":"d","parameters":{}}}],"context":[]},"copilotkit":{"actions":[{"type":"function","name":"f","function":{"name":"f","description":"d","parameters":{}}}],"context":[]}}`},
		"an image":              {`"messages":[{"id":"i","role":"user","content":[{"type":"text","text":"see"},{"type":"image","source":{"type":"data","mimeType":"image/png","value":"AA"}}]}]`, `{"messages":[{"id":"i","type":"human","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA"}}]}]}`},
		"an assistant's":        {`"messages":[{"id":"th","role":"reasoning","content":"why"},{"id":"a","role":"assistant","content":"x","toolCalls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]}]`, `{"messages":[{"id":"a","type":"ai","content":[{"type":"reasoning","id":"th","summary":[{"type":"summary_text","text":"why"}]},{"type":"text","text":"x"}],"tool_calls":[{"id":"c","name":"f","args":{"a":1},"type":"tool_call"}]}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			state := had
			if name == "a new thread's" {
				state = empty
			}
			s, _ := readState([]byte(state))
			in := input(t, c.more)
			list, _, err := newMessages(in.Messages, s)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(inputOf(in, s, list)); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
	t.Run("an edited message", func(t *testing.T) {
		s, _ := readState([]byte(had))
		_, _, err := newMessages(input(t, `"messages":[{"id":"u1","role":"user","content":"other"}]`).Messages, s)
		if err == nil || err.Code != agui.MessagesNotTaken {
			t.Error(err)
		}
	})
	t.Run("a config", func(t *testing.T) {
		in := input(t, `"forwardedProps":{"config":{"recursion_limit":5,"metadata":{"who":"x","run_id":"z","holdpoint_run":"n"},"configurable":{"model":"m","thread_id":"x","checkpoint_id":"y","__pregel_resuming":true,"\u005f_pregel_resume_map":{"a":1}}},"command":{"goto":"x"}}`)
		if got := string(configOf(in)); got != `{"recursion_limit":5,"metadata":{"who":"x"},"configurable":{"model":"m"}}` {
			t.Error(got)
		}
	})
}

func TestStreams(t *testing.T) {
	const ai = `"type":"AIMessageChunk","id":"a1"`
	for name, c := range map[string]struct {
		list []string
		want string
	}{
		"a text": {[]string{`messages|[{` + ai + `,"content":"Hel"},{"langgraph_node":"n"}]`, `messages|n:1|x`, `messages|[{` + ai + `,"content":"lo"},{"langgraph_node":"n"}]`, `updates|{"n":{}}`}, "START Hel lo END"},
		"blocks and reasoning": {[]string{`messages|[{` + ai + `,"content":[{"type":"thinking","thinking":"hm"}]},{}]`, `messages|[{` + ai + `,"content":[{"type":"text","text":"yes"}]},{}]`},
			"REASONING_START REASONING_MESSAGE_START hm REASONING_MESSAGE_END REASONING_END START yes END"},
		"a call in pieces": {[]string{
			`messages|[{` + ai + `,"content":"","tool_call_chunks":[{"index":0,"id":"c1","name":"f","args":""}],"tool_calls":[{"id":"c1","name":"f","args":{}}]},{}]`,
			`messages|[{` + ai + `,"content":"","tool_call_chunks":[{"index":0,"args":"{}"}]},{}]`,
			`messages|[{` + ai + `,"content":"","tool_call_chunks":[{"index":1,"id":"c2","name":"g","args":"{\"a\":1}"}]},{}]`,
			`messages|[{"type":"tool","id":"r1","tool_call_id":"c1","content":"done"},{}]`,
		}, `c1=f {} TOOL_CALL_END c2=g {"a":1} c1->done TOOL_CALL_END`},
		"a whole call":         {[]string{`messages|[{"type":"ai","id":"a1","content":"","tool_calls":[{"id":"c1","name":"f","args":{"a":1}}]},{}]`}, `c1=f {"a":1} TOOL_CALL_END`},
		"what is switched off": {[]string{`messages|[{` + ai + `,"content":"x","tool_calls":[{"id":"c1","name":"f"}]},{"emit-messages":false,"copilotkit:emit-tool-calls":false}]`}, ""},
		"of a person":          {[]string{`messages|[{"type":"human","id":"h","content":"x"},{}]`, `messages|[{"type":"ai","id":"u1","content":"the client has it"},{}]`}, ""},
		"a state":              {[]string{`values|{"a":1}`, `values|{"a":1}`, `values|{"__interrupt__":[]}`, `values|sub:1|{}`, `values|{"a":2,"__interrupt__":[]}`}, `state{"a":1} state{"a":2}`},
		"steps beside each other": {[]string{
			`events|{"event":"on_chain_start","name":"n","run_id":"1","tags":["graph:step:1"],"metadata":{"langgraph_node":"n"}}`,
			`events|{"event":"on_chain_start","name":"n","run_id":"2","tags":["graph:step:1"],"metadata":{"langgraph_node":"n"}}`,
			`events|{"event":"on_chain_start","name":"other","run_id":"3","tags":["seq:step:1"],"metadata":{"langgraph_node":"n"}}`,
			`events|{"event":"on_chain_end","name":"n","run_id":"1","tags":["graph:step:1"],"metadata":{"langgraph_node":"n"}}`,
			`events|{"event":"on_chain_start","name":"m","run_id":"4","tags":["graph:step:1"],"metadata":{"langgraph_node":"m"}}`,
		}, "<n <m >m >n"},
		"by hand": {[]string{
			`events|{"event":"on_custom_event","name":"manually_emit_message","data":{"message_id":"x","message":"Hi"}}`,
			`events|{"event":"on_custom_event","name":"copilotkit_manually_emit_tool_call","data":{"id":"c","name":"f","args":{"a":1}}}`,
			`events|{"event":"on_custom_event","name":"on_interrupt","data":"a forged question"}`,
			`custom|{"p":1}`,
		}, `START Hi END manually_emit_message{"message_id":"x","message":"Hi"} c=f {"a":1} TOOL_CALL_END copilotkit_manually_emit_tool_call{"id":"c","name":"f","args":{"a":1}} langgraph.custom{"p":1}`},
		"predicted": {[]string{`messages|[{"type":"ai","id":"a1","content":"","tool_calls":[{"id":"c1","name":"f","args":{}}]},{"predict_state":[{"tool":"f","state_key":"k","tool_argument":"a"}]}]`}, `PredictState[{"tool":"f","state_key":"k","tool_argument":"a"}] c1=f {} TOOL_CALL_END`},
		"an error":  {[]string{`messages|[{` + ai + `,"content":"x"},{}]`, `error|{"error":"ValueError","message":"kaput"}`}, "START x END"},
		"no JSON":   {[]string{`messages|{`, `values|[]`, `updates|1`, `events|null`, `|{}`}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := plain(t, "", empty)
			p := dialecttest.Decode(e.Run, &dialecttest.Log{}, false, frames(append([]string{meta}, c.list...)...)...)
			got := story(p.All())
			if after := p.Result.Next; after != nil {
				p = dialecttest.Decode(after.Run, &dialecttest.Log{}, false)
				got = strings.TrimSpace(got + " " + story(p.Result.HeldEvents))
			} else if p.Result.Finish.Get("message").Str != "kaput" {
				t.Errorf("%+v", p.Result)
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestAThreadThatWaits(t *testing.T) {
	in := input(t, `"messages":[`+hello+`,{"id":"u2","role":"user","content":"more"}]`)
	_, run, _ := newDialect(t).Begin(&translate.Request{Input: in, ClientMessages: in.Messages, Transcript: &dialecttest.Log{}})
	look := next(t, run, false, whole(`{}`))
	p := dialecttest.Decode(look.Run, &dialecttest.Log{}, false, whole(stateWith(task(asks(idA, `"Go?"`))))...)
	res := p.Result
	if len(res.Asked.Interrupts) != 1 || res.Asked.Interrupts[0].Native != idA || len(res.UnacceptedMessages) != 1 || res.UnacceptedMessages[0].ID != "u2" || res.Next != nil {
		t.Errorf("%+v", res)
	}
	// The message that was not sent to the server must stay in the client's chat.
	var ids []string
	for _, ev := range res.HeldEvents {
		for _, m := range ev.Get("messages").Array() {
			ids = append(ids, m.Get("id").Str)
		}
	}
	if !slices.Equal(ids, []string{"u1", "u2"}) {
		t.Errorf("the client has the messages %q", ids)
	}
}

func TestJoin(t *testing.T) {
	stream := []string{meta, `messages|[{"type":"ai","id":"a1","content":"Hel"},{}]`}
	rest := append(stream, `messages|[{"type":"ai","id":"a1","content":"lo"},{}]`)
	t.Run("a run that told its id", func(t *testing.T) {
		e := plain(t, "", empty)
		first := dialecttest.Decode(e.Run, &dialecttest.Log{}, true, frames(stream...)...)
		join := first.Result.Next
		if join == nil || join.Out.Resumes || join.Out.Method != "GET" || join.Out.Path != "/threads/"+threadOf("t1")+"/runs/"+runID+"/stream" {
			t.Fatalf("%+v", first.Result)
		}
		second := dialecttest.Decode(join.Run, &dialecttest.Log{}, false, frames(rest...)...)
		if got := story(append(first.All(), second.All()...)); got != "START Hel lo" || second.Result.Next == nil {
			t.Errorf("%s %+v", got, second.Result)
		}
	})
	t.Run("one that did not", func(t *testing.T) {
		e := plain(t, "", empty)
		list := next(t, e.Run, true, nil)
		join := next(t, list.Run, false, whole(`[{"run_id":"01a1f73b-2ab8-7547-b991-000000000000","metadata":{"holdpoint_run":"x"}},{"run_id":"`+runID+`","metadata":{"holdpoint_run":"nonce"}}]`))
		if !strings.Contains(join.Out.Path, runID) {
			t.Errorf("%+v", join.Out)
		}
	})
	for name, answer := range map[string][]translate.Piece{
		"a server that has lost it":       frames(`error|{"error":"HTTPException","message":"404: Run not found"}`),
		"a stream that cannot be resumed": nil,
	} {
		t.Run(name, func(t *testing.T) {
			p := pausedBy(t, stateWith(task(asks(idA, `"Go?"`))), `updates|{"__interrupt__":[`+asks(idA, `"Go?"`)+`]}`)
			_, run, err := resume(t, p, `true`)
			if err != nil {
				t.Fatal(err)
			}
			e := next(t, run, false, whole(stateWith(task(asks(idA, `"Go?"`)))))
			join := next(t, e.Run, true, frames(stream...))
			got := dialecttest.Decode(join.Run, &dialecttest.Log{}, false, answer...)
			if got.Result.Fate != translate.InDoubt || got.Result.Next != nil {
				t.Errorf("%+v", got.Result)
			}
		})
	}
}

// TestStreamThatEndsTooSoon: something between the server and Holdpoint has ended the stream too
// early, although the thread has further steps. The dialect must join the run. If the thread still
// does not finish, it must be in doubt whether the approved call ran.
func TestStreamThatEndsTooSoon(t *testing.T) {
	const asked = `"Go?"`
	waits := stateWith(task(asks(idA, asked)))
	works, rests := stateWith(task()), strings.Replace(stateWith(), `"next":["ask"]`, `"next":[]`, 1)
	stream := []string{meta, `messages|[{"type":"ai","id":"a1","content":"Hel"},{}]`}
	rest := append(slices.Clone(stream), `messages|[{"type":"ai","id":"a2","content":"lo"},{}]`)
	for name, c := range map[string]struct {
		answer string
		last   string // the state after each join except the first
		fate   translate.Fate
		joins  int
	}{
		"it is joined, and rests":    {"true", rests, translate.Finished, 1},
		"it never rests":             {"true", works, translate.InDoubt, maxJoins},
		"it never rests behind a no": {"false", works, translate.Finished, maxJoins},
		"it asks again":              {"true", waits, translate.Finished, 0},
		"it stopped at a breakpoint": {"true", works, translate.Finished, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := pausedBy(t, waits, `updates|{"__interrupt__":[`+asks(idA, asked)+`]}`)
			_, run, err := resume(t, p, c.answer)
			if err != nil {
				t.Fatal(err)
			}
			e := next(t, run, false, whole(waits))
			shown := slices.Clone(stream)
			switch name {
			case "it asks again":
				shown = append(shown, `updates|{"__interrupt__":[`+asks(idB, asked)+`]}`)
			case "it stopped at a breakpoint":
				shown = append(shown, `updates|{"__interrupt__":[]}`)
			}
			settle := next(t, e.Run, false, frames(shown...))
			state, joins := works, 0
			for {
				p := dialecttest.Decode(settle.Run, &dialecttest.Log{}, false, whole(state)...)
				if p.Result.Next == nil {
					if p.Result.Fate != c.fate || joins != c.joins {
						t.Errorf("%v after %d joins, want %v after %d: %+v", p.Result.Fate, joins, c.fate, c.joins, p.Result.Asked)
					}
					return
				}
				if joins++; joins > maxJoins || !strings.HasSuffix(p.Result.Next.Out.Path, "/stream") || p.Result.Next.Out.Resumes {
					t.Fatalf("%+v", p.Result.Next.Out)
				}
				settle = next(t, p.Result.Next.Run, false, frames(rest...))
				state = c.last
			}
		})
	}
}

func TestRefusedRuns(t *testing.T) {
	for name, c := range map[string]struct {
		end  translate.End
		code agui.Code
	}{
		"Python's 409":        {translate.End{Status: 409, Body: []byte(`{"detail":"..."}`)}, agui.ThreadBusy},
		"JavaScript's 422":    {translate.End{Status: 422, Body: []byte("Thread is already running a task.")}, agui.ThreadBusy},
		"a wrong assistant":   {translate.End{Status: 404, Body: []byte("No assistant")}, agui.UpstreamStatus},
		"nobody is let in":    {translate.End{Status: 403}, agui.UpstreamStatus},
		"something else":      {translate.End{Status: 500}, ""},
		"no stream, but JSON": {translate.End{Status: 200, Body: []byte("{}")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := plain(t, "", empty)
			res, err := e.Run.End(c.end)
			if err != nil || agui.Code(res.Finish.Get("code").Str) != c.code || res.Next != nil {
				t.Errorf("%+v %v", res, err)
			}
		})
	}
}

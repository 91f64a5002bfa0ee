package superagent

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

// FuzzStream checks any frames of the server. Nothing may panic, and the events must be in an order
// that clients accept. It must be possible to store a question, and to answer it only with a yes or
// a no.
func FuzzStream(f *testing.F) {
	for _, s := range [][]string{
		{"message|Hel", "message|", "message|\x00INTERRUPT:" + state, "message|[DONE]"}, {`\u0000INTERRUPT:` + stateWith(""), "[DONE]"},
		{a2ui("text", `{"delta":"x"}`), a2ui("interrupt", wrapped(state)), a2ui("done", "null")}, {"x", bare("thinking", `{"delta":"x"}`), "[error] x"},
		{a2ui("tool_call", `{"id":"c","name":"f","arguments":{},"status":"calling"}`), a2ui("tool_result", `{"id":"c","result":[1]}`), a2ui("code_block", `{"code":"x"}`), a2ui("error", `{"code":7}`)},
		{a2ui("interrupt", `{"reason":"{}","fields":[{"name":"a","type":"text","required":true},{"name":"b","type":"confirm"}]}`)},
	} {
		f.Add(strings.Join(s, "\x01"), false)
		f.Add(strings.Join(s, "\x01"), true)
	}
	f.Fuzz(func(t *testing.T, stream string, resumes bool) {
		in := input(t, "")
		_, run, err := newDialect(t).Begin(&translate.Request{Input: in, ClientMessages: in.Messages, Transcript: &dialecttest.Log{}})
		if resumes {
			_, run, err = resumeWith(t, pausedBy(t, "\x00INTERRUPT:"+state), input(t, dialecttest.ResumeArray(entry("true"))))
		}
		if err != nil {
			t.Fatal(err)
		}
		p := play(t, run, frames(strings.Split(stream, "\x01")...))
		checkOrder(t, p)
		if len(p.Result.Asked.Interrupts) == 0 {
			return
		}
		if _, err := json.Marshal(p.Result.Asked); err != nil {
			t.Fatalf("the pause cannot be stored: %v", err)
		}
		checkInterrupt(t, p.Result.Asked.Interrupts[0].Object)
		pause := minted(p.Result.Asked.Pause(Name))
		kept, _ := keptOf(pause)
		for payload, word := range map[string]string{"true": "true", "false": "false", "": "false", "{}": "", "null": ""} {
			out, _, err := resumeWith(t, pause, input(t, dialecttest.ResumeArray(entry(payload))))
			if err != nil {
				var refused *agui.RunError
				if !errors.As(err, &refused) {
					t.Fatal(err)
				}
				continue
			}
			if out.None {
				if payload != "" {
					t.Fatalf("%s: the backend is not called", payload)
				}
				continue
			}
			input := checkSent(t, out)
			if word == "" || kept.confirms() && input.Get(`@values.0`).Raw != word {
				t.Fatalf("%q became %s", payload, input.Raw)
			}
		}
	})
}

// checkSent checks the request that sends an answer. Its input must never be empty. checkSent
// returns the input.
func checkSent(t *testing.T, out translate.Out) gjson.Result {
	t.Helper()
	body := gjson.ParseBytes(out.Body)
	input := body.Get("input")
	if !json.Valid(out.Body) || !out.Resumes || body.Get("session_id").Str != "t1" || body.Get("agent_id").Str != "approver" || !input.IsObject() || len(input.Map()) == 0 {
		t.Fatalf("sent %s", out.Body)
	}
	return input
}

// checkOrder checks that everything that begins also ends, and that each event belongs to something
// that has begun.
func checkOrder(t *testing.T, p played) {
	t.Helper()
	open := map[string]agui.Type{}
	end := func(ev agui.Event, start agui.Type, id string) {
		if open[id] != start {
			t.Fatalf("%s ends what is not open", ev.JSON)
		}
		delete(open, id)
	}
	for _, ev := range p.All() {
		id := ev.Get("messageId").Str + ev.Get("toolCallId").Str
		switch ev.Type {
		case agui.TextStart, agui.ReasoningStart, agui.CallStart:
			if len(open) > 0 {
				t.Fatalf("%s while %v is open", ev.JSON, open)
			}
			open[id] = ev.Type
		case agui.TextContent, agui.CallArgs:
			if _, ok := open[id]; !ok || ev.Get("delta").Str == "" {
				t.Fatalf("stray: %s", ev.JSON)
			}
		case agui.TextEnd:
			end(ev, agui.TextStart, id)
		case agui.ReasoningEnd:
			end(ev, agui.ReasoningStart, id)
		case agui.CallEnd:
			end(ev, agui.CallStart, id)
		}
	}
	if len(open) > 0 && (len(p.Result.Asked.Interrupts) > 0 || p.Result.Finish.Type == agui.RunFinished) {
		t.Fatalf("%v is open at the end", open)
	}
}

// checkInterrupt checks the members of an interrupt that make a client fail if they have the wrong
// type.
func checkInterrupt(t *testing.T, object json.RawMessage) {
	t.Helper()
	var o struct {
		Reason         string
		Message        *string
		ResponseSchema map[string]any
		ExpiresAt      *string
		Metadata       map[string]any
	}
	if err := json.Unmarshal(object, &o); err != nil || o.Reason == "" || o.ResponseSchema == nil || o.Metadata == nil {
		t.Fatalf("%v: %s", err, object)
	}
}

// FuzzAnswers checks any answer to any question. Nothing may panic, no empty input may be sent, and
// a yes may be sent only if the client's request contains one.
func FuzzAnswers(f *testing.F) {
	for _, fields := range []string{"", confirmField, confirmField + `,{"name":"city","type":"text"}`, `{"name":"approved","type":"text"}`} {
		for _, more := range []string{
			"", `"resume":[]`, dialecttest.ResumeArray(entry("true")), dialecttest.ResumeArray(entry("")), dialecttest.ResumeArray(entry(`{"confirm":false,"approved":true}`)), dialecttest.ResumeArray(entry(`{"city":""}`)), dialecttest.ResumeArray(entry(`"x"`)),
			dialecttest.Command(`false`), dialecttest.Command(`{}`), `"resume":{"interruptId":"n~1"}`,
		} {
			f.Add(fields, more)
		}
	}
	f.Fuzz(func(t *testing.T, fields, more string) {
		body := `{"threadId":"t1","runId":"r1","messages":[]`
		if more != "" {
			body += "," + more
		}
		body += "}"
		state := stateWith(fields)
		if !agui.ValidJSON([]byte(body)) || !agui.ValidJSON([]byte(state)) {
			return
		}
		in, ok, err := agui.ParseInput([]byte(body))
		if !ok || err != nil {
			return
		}
		p := playPlain(t, "\x00INTERRUPT:"+state).Result.Asked.Pause(Name)
		if len(p.Interrupts) == 0 {
			return
		}
		out, _, err := resumeWith(t, minted(p), in)
		if err != nil {
			var refused *agui.RunError
			if !errors.As(err, &refused) {
				t.Fatal(err)
			}
			return
		}
		if out.None {
			return
		}
		given := checkSent(t, out)
		if cancelled := len(in.Resume) == 1 && in.Resume[0].Status == agui.Cancelled; strings.Contains(given.Raw, "true") && (cancelled && !strings.Contains(fields, "true") || !strings.Contains(more, "true")) {
			t.Fatalf("%s became %s", body, given.Raw)
		}
	})
}

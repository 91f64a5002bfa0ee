package langgraphserver

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/dialecttest"
)

// FuzzStream checks any frames of a server. Nothing may panic, and each event must be valid JSON.
func FuzzStream(f *testing.F) {
	f.Add("messages", `[{"type":"ai","id":"a","content":[{"type":"text","text":"x"}],"tool_call_chunks":[{"index":0,"id":"c","name":"f","args":"{"}]},{}]`, "updates", `{"__interrupt__":[{"id":"`+idA+`","value":"x"}]}`, stateWith(task(asks(idA, `"x"`))))
	f.Add("values", `{"a":[1,{"b":null}]}`, "events", `{"event":"on_custom_event","name":"manually_emit_state","data":{"x":1}}`, empty)
	f.Add("error", `"no"`, "custom", `[]`, `{`)
	f.Fuzz(func(t *testing.T, nameA, dataA, nameB, dataB, state string) {
		e := plain(t, "", empty)
		p := dialecttest.Decode(e.Run, &dialecttest.Log{}, false, frames(meta, nameA+"|"+dataA, nameB+"|"+dataB)...)
		all := p.All()
		for p.Result.Next != nil {
			p = dialecttest.Decode(p.Result.Next.Run, &dialecttest.Log{}, false, whole(state)...)
			all = append(all, p.All()...)
		}
		for _, ev := range append(all, p.Result.HeldEvents...) {
			if !json.Valid(ev.JSON) || strings.ContainsAny(string(ev.JSON), "\r\n") {
				t.Fatalf("%s", ev.JSON)
			}
			if ev.Type == agui.Custom && ev.Get("name").Str == agui.OnInterrupt {
				t.Fatalf("a question that nobody keeps: %s", ev.JSON)
			}
		}
		for _, i := range p.Result.Asked.Interrupts {
			if !json.Valid(i.Object) {
				t.Fatalf("%s", i.Object)
			}
		}
	})
}

// FuzzAnswer checks any payload of an answer. Nothing may panic, every request to the server must
// be JSON, and a request may contain a yes only if the payload has one.
func FuzzAnswer(f *testing.F) {
	for _, payload := range []string{`{"approved":false}`, `true`, `null`, `"x"`, `{"approved":true,"approved":false}`, ``} {
		f.Add(payload, question)
		f.Add(payload, `{"actionRequests":[{"name":"f","args":{}}],"reviewConfigs":[]}`)
	}
	f.Fuzz(func(t *testing.T, payload, value string) {
		if payload != "" && !(agui.ValidJSON([]byte(payload)) && utf8.ValidString(payload)) || !json.Valid([]byte(value)) || strings.Contains(value, "__interrupt") {
			return
		}
		state := stateWith(task(asks(idA, value)))
		if !agui.ValidJSON([]byte(state)) {
			return
		}
		p := pausedBy(t, state, `updates|{"__interrupt__":[`+asks(idA, value)+`]}`)
		if len(p.Interrupts) != 1 {
			return
		}
		_, run, err := resume(t, p, payload)
		if err != nil {
			if !dialecttest.IsRunError(err) {
				t.Fatal(err)
			}
			return
		}
		next := dialecttest.Decode(run, &dialecttest.Log{}, false, whole(state)...).Result.Next
		if next == nil {
			return
		}
		if !json.Valid(next.Out.Body) {
			t.Fatalf("%s", next.Out.Body)
		}
		sent := gjson.GetBytes(next.Out.Body, "command.resume").Raw
		if !strings.Contains(payload, "true") && !strings.Contains(payload, `\`) && !strings.Contains(payload, "approve") && strings.Contains(sent, `"approve"`) {
			t.Fatalf("%s became %s", payload, sent)
		}
	})
}

package langgraph

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
	"holdpoint/translate/internal/langgraphapi"
)

// values are interrupt values, the seeds of the fuzz tests.
var values = []string{
	approval, jsHITL, pyHITL, inboxOne, "[" + inboxOne + "]", kitText, kitTool, `"What?"`, `42`, `null`, `{}`, `[]`,
	`{"reason":null,"message":"m","toolCallId":"call-1-1","response_schema":{"type":"object"},"expiresAt":"2030-01-01T00:00:00Z"}`,
	`{"action_requests":[{"name":"f","args":null}],"review_configs":[{"action_name":"f","allowed_decisions":["approve","respond"],"args_schema":{"$defs":{}}}]}`,
}

// FuzzEvents checks any events of a backend, one on each line. Nothing may panic, and the output
// must be valid.
func FuzzEvents(f *testing.F) {
	for _, v := range values {
		f.Add(strings.Join([]string{started, stepAsk, pyCalls, custom(idA, v), custom("", v), state, finished}, "\n"), false)
		f.Add(strings.Join([]string{started, custom(idA, v), withOutcome(adapters(idA, v, `,"message":null`), adapters(idB, v, ""))}, "\n"), true)
	}
	f.Add(strings.Join([]string{started, `{"type":"CUSTOM","name":"on_interrupt","value":"x","rawEvent":{"ns":["a"],"when":null}}`, state, messages, finished}, "\n"), true)
	f.Add(strings.Join([]string{started, custom(idA, `"x"`), failed}, "\n"), false)
	f.Fuzz(func(t *testing.T, stream string, nsIDs bool) {
		d := newDialect(t, Options{})
		p := pausedBy(t, d, started, custom(idA, approval), finished)
		plainLog, resumeLog := &dialecttest.Log{}, &dialecttest.Log{}
		_, plain, err := d.Begin(&translate.Request{Input: input(t, ""), Transcript: plainLog})
		if err != nil {
			t.Fatal(err)
		}
		_, resume, err := resumeWith(t, d, p, input(t, dialecttest.ResumeArray(dialecttest.Entry(idA+"~r1", "true"))), func(r *translate.Request) { r.Transcript = resumeLog })
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(stream, "\n")
		checkPlayed(t, d, dialecttest.Play(plain, plainLog, lines...))
		checkPlayed(t, d, dialecttest.Play(resume, resumeLog, lines...))
	})
}

func checkPlayed(t *testing.T, d *Dialect, p dialecttest.Played) {
	t.Helper()
	for _, ev := range p.Emitted {
		if ev.Edited || ev.Frame == nil {
			t.Fatalf("an event was touched: %s", ev.JSON)
		}
	}
	if p.Result.Next != nil && !json.Valid(p.Result.Next.Out.Body) {
		t.Fatalf("next body %s", p.Result.Next.Out.Body)
	}
	pause := p.Result.Asked.Pause(Name)
	if len(pause.Interrupts) == 0 {
		return
	}
	if p.Result.Finish.Type != agui.RunFinished || !json.Valid(p.Result.Finish.JSON) || p.Result.Finish.Get("outcome").Exists() {
		t.Fatalf("finish %s", p.Result.Finish.JSON)
	}
	if _, err := json.Marshal(pause); err != nil {
		t.Fatalf("the pause cannot be stored: %v", err)
	}
	for _, i := range pause.Interrupts {
		checkInterrupt(t, i.Object)
	}
	// Each published question must either be answerable or be refused with a reason.
	pause = dialecttest.WithIDs(pause)
	for _, payload := range []string{"", "true"} {
		var entries []string
		for _, i := range pause.Interrupts {
			entries = append(entries, `{"interruptId":`+dialecttest.Quoted(i.ID)+`,"status":"`+map[bool]string{true: "cancelled", false: "resolved"}[payload == ""]+`","payload":true}`)
		}
		in, ok, err := agui.ParseInput([]byte(`{"threadId":"t","runId":"r","messages":[],` + dialecttest.ResumeArray(entries...) + `}`))
		if !ok || err != nil {
			return // two ids are equal
		}
		if _, _, err := resumeWith(t, d, pause, in); err != nil && !dialecttest.IsRunError(err) {
			t.Fatal(err)
		}
	}
}

// checkInterrupt checks the members of an interrupt that make a client fail if they are null or
// have the wrong type.
func checkInterrupt(t *testing.T, object json.RawMessage) {
	t.Helper()
	if !json.Valid(object) {
		t.Fatalf("object %s", object)
	}
	var o map[string]any
	if err := json.Unmarshal(object, &o); err != nil {
		t.Fatal(err)
	}
	if _, ok := o["reason"].(string); !ok {
		t.Fatalf("no reason: %s", object)
	}
	for key, v := range o {
		switch key {
		case "reason", "message", "toolCallId", "expiresAt", "subagentRunId":
			if _, ok := v.(string); !ok {
				t.Fatalf("%s is no string: %s", key, object)
			}
		case "responseSchema", "metadata":
			if _, ok := v.(map[string]any); !ok {
				t.Fatalf("%s is no object: %s", key, object)
			}
		default:
			t.Fatalf("%s has no place in an interrupt: %s", key, object)
		}
	}
}

// FuzzAnswers checks any answer to any question. Nothing may panic, and every request to the
// backend must be JSON. If the client's request contains no word or value for a yes, a review must
// get no approval, and another question only a falsy value.
func FuzzAnswers(f *testing.F) {
	A, B := idA+"~r1", idA+"~r2"
	bodies := []string{
		"", `"resume":[]`, dialecttest.ResumeArray(dialecttest.Entry(A, "")), dialecttest.ResumeArray(dialecttest.Entry(A, "true")), dialecttest.ResumeArray(dialecttest.Entry(A, "false"), dialecttest.Entry(B, "")),
		dialecttest.ResumeArray(dialecttest.Entry(A, `{"approved":true,"editedArgs":{"x":1}}`), dialecttest.Entry(B, `{"approved":false,"message":"no"}`)),
		dialecttest.ResumeArray(dialecttest.Entry(A, `{"approved":false,"approved":true}`)), dialecttest.ResumeArray(dialecttest.Entry(A, `{"type":"approve"}`)),
		dialecttest.ResumeArray(dialecttest.Entry(A, `{"decisions":[{"type":"reject"}]}`)), dialecttest.ResumeArray(dialecttest.Entry(A, `[{"type":"ignore","args":null}]`)),
		dialecttest.Command(`{"decisions":[{"type":"approve"},{"type":"reject"}]}`), dialecttest.Command(`"{\"decisions\":[{\"type\":\"reject\"}]}"`),
		dialecttest.Command(`{"` + idA + `":false}`), dialecttest.Command(`{"` + A + `":{"approved":false}}`), dialecttest.Command(`false`), dialecttest.Command(`"false"`), dialecttest.Command(`{}`), dialecttest.Command(`null`),
		`"forwardedProps":{"command":{"resume":0,"interruptEvent":` + dialecttest.Quoted(approval) + `}}`,
		dialecttest.ResumeArray(dialecttest.Entry(A, "")) + "," + dialecttest.Command(`"no"`), `"forwardedProps":7,` + dialecttest.ResumeArray(dialecttest.Entry(A, "")),
	}
	for _, v := range values {
		for _, b := range bodies {
			f.Add(v, b, true)
		}
		f.Add(v, bodies[2], false)
	}
	f.Fuzz(func(t *testing.T, value, more string, withID bool) {
		if !json.Valid([]byte(value)) {
			return
		}
		d := newDialect(t, Options{})
		id := idA
		if !withID {
			id = ""
		}
		p := playPlain(t, d, started, pyCalls, custom(id, strings.TrimSpace(value)), finished)
		if len(p.Result.Asked.Interrupts) == 0 {
			return // the event is Mastra's
		}
		pause := dialecttest.WithIDs(p.Result.Asked.Pause(Name))
		body := `{"threadId":"t","runId":"r","messages":[]`
		if more != "" {
			body += "," + more
		}
		body += "}"
		if !json.Valid([]byte(body)) {
			return
		}
		in, ok, err := agui.ParseInput([]byte(body))
		if !ok || err != nil {
			return
		}
		if _, err := d.Answers(in, agui.Pause{}); err != nil && !dialecttest.IsRunError(err) {
			t.Fatal(err)
		}
		out, _, err := resumeWith(t, d, pause, in)
		if err != nil {
			if !dialecttest.IsRunError(err) {
				t.Fatal(err)
			}
			return
		}
		if gjson.GetBytes(out.Body, "resume").Exists() || !gjson.GetBytes(out.Body, "messages").IsArray() {
			t.Fatalf("body %s", out.Body)
		}
		if saysYes(body) {
			return
		}
		answer := gjson.Parse(sent(out))
		if id != "" {
			answer = answer.Get(idA)
		}
		shape := langgraphapi.Groups(pause, nil)[0].Shape
		if shape == langgraphapi.HITL || shape == langgraphapi.Inbox {
			for _, yes := range []string{"approve", "accept", "edit"} {
				if strings.Contains(answer.Raw, `"type":"`+yes+`"`) {
					t.Fatalf("%s became %s", body, answer.Raw)
				}
			}
		} else if cancels(in) && !langgraphapi.Falsy(json.RawMessage(answer.Raw)) {
			t.Fatalf("%s became %s", body, answer.Raw)
		}
	})
}

func cancels(in agui.RunInput) bool {
	return len(in.Resume) == 1 && in.Resume[0].Status == agui.Cancelled
}

// saysYes returns true if a JSON text contains true, or a word for an approval in a string or key.
// It also reads JSON inside strings.
func saysYes(text string) bool {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return false
	}
	return yes(v)
}

func yes(v any) bool {
	switch v := v.(type) {
	case bool:
		return v
	case string:
		return v == "approve" || v == "accept" || v == "edit" || saysYes(v)
	case map[string]any:
		for _, w := range v {
			if yes(w) {
				return true
			}
		}
	case []any:
		for _, w := range v {
			if yes(w) {
				return true
			}
		}
	}
	return false
}

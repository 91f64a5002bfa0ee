package langgraph

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// values are seeds of interrupt values.
var values = []string{
	approval, jsHITL, pyHITL, inboxOne, "[" + inboxOne + "]", kitText, kitTool, `"What?"`, `42`, `null`, `{}`, `[]`,
	`{"reason":null,"message":"m","toolCallId":"call-1-1","response_schema":{"type":"object"},"expiresAt":"2030-01-01T00:00:00Z"}`,
	`{"action_requests":[{"name":"f","args":null}],"review_configs":[{"action_name":"f","allowed_decisions":["approve","respond"],"args_schema":{"$defs":{}}}]}`,
}

// FuzzEvents: whatever a backend streams, one event on a line, nothing panics, and what comes of it
// is in order.
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
		plainLog, resumeLog := &log{}, &log{}
		_, plain, err := d.Begin(&translate.Request{Input: input(t, ""), Transcript: plainLog})
		if err != nil {
			t.Fatal(err)
		}
		_, resume, err := resumeWith(t, d, p, input(t, resumeArray(entry(idA+"~r1", "true"))), func(r *translate.Request) { r.Transcript = resumeLog })
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(stream, "\n")
		checkPlayed(t, d, play(plain, plainLog, lines...))
		checkPlayed(t, d, play(resume, resumeLog, lines...))
	})
}

func checkPlayed(t *testing.T, d *Dialect, p played) {
	t.Helper()
	for _, ev := range p.emitted {
		if ev.Edited || ev.Frame == nil {
			t.Fatalf("an event was touched: %s", ev.JSON)
		}
	}
	if p.result.Next != nil && !json.Valid(p.result.Next.Out.Body) {
		t.Fatalf("next body %s", p.result.Next.Out.Body)
	}
	pause := p.result.Asked.Pause(Name)
	if len(pause.Interrupts) == 0 {
		return
	}
	if p.result.Finish.Type != agui.RunFinished || !json.Valid(p.result.Finish.JSON) || p.result.Finish.Get("outcome").Exists() {
		t.Fatalf("finish %s", p.result.Finish.JSON)
	}
	if _, err := json.Marshal(pause); err != nil {
		t.Fatalf("the pause cannot be stored: %v", err)
	}
	for _, i := range pause.Interrupts {
		checkInterrupt(t, i.Object)
	}
	// What was published can be answered, or is refused for a reason.
	pause = minted(pause)
	for _, payload := range []string{"", "true"} {
		var entries []string
		for _, i := range pause.Interrupts {
			entries = append(entries, `{"interruptId":`+quoted(i.ID)+`,"status":"`+map[bool]string{true: "cancelled", false: "resolved"}[payload == ""]+`","payload":true}`)
		}
		in, ok, err := agui.ParseInput([]byte(`{"threadId":"t","runId":"r","messages":[],` + resumeArray(entries...) + `}`))
		if !ok || err != nil {
			return // ids of which two are equal
		}
		if _, _, err := resumeWith(t, d, pause, in); err != nil && !isRunError(err) {
			t.Fatal(err)
		}
	}
}

func isRunError(err error) bool {
	var e *agui.RunError
	return errors.As(err, &e)
}

// checkInterrupt: the fields that are fatal to a client if they are null or of another kind.
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

// FuzzAnswers: whatever a client sends to whatever is asked, nothing panics, what goes out is JSON
// without a resume array and with messages, and approved means approved: a review gets no approving
// decision, and no other question anything but a falsy value, if nowhere in the request there is a
// word or value that could mean yes.
func FuzzAnswers(f *testing.F) {
	A, B := idA+"~r1", idA+"~r2"
	bodies := []string{
		"", `"resume":[]`, resumeArray(entry(A, "")), resumeArray(entry(A, "true")), resumeArray(entry(A, "false"), entry(B, "")),
		resumeArray(entry(A, `{"approved":true,"editedArgs":{"x":1}}`), entry(B, `{"approved":false,"message":"no"}`)),
		resumeArray(entry(A, `{"approved":false,"approved":true}`)), resumeArray(entry(A, `{"type":"approve"}`)),
		resumeArray(entry(A, `{"decisions":[{"type":"reject"}]}`)), resumeArray(entry(A, `[{"type":"ignore","args":null}]`)),
		command(`{"decisions":[{"type":"approve"},{"type":"reject"}]}`), command(`"{\"decisions\":[{\"type\":\"reject\"}]}"`),
		command(`{"` + idA + `":false}`), command(`{"` + A + `":{"approved":false}}`), command(`false`), command(`"false"`), command(`{}`), command(`null`),
		`"forwardedProps":{"command":{"resume":0,"interruptEvent":` + quoted(approval) + `}}`,
		resumeArray(entry(A, "")) + "," + command(`"no"`), `"forwardedProps":7,` + resumeArray(entry(A, "")),
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
		if len(p.result.Asked.Interrupts) == 0 {
			return // an announcement of Mastra's
		}
		pause := minted(p.result.Asked.Pause(Name))
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
		if _, err := d.Answers(in, agui.Pause{}); err != nil && !isRunError(err) {
			t.Fatal(err)
		}
		out, _, err := resumeWith(t, d, pause, in)
		if err != nil {
			if !isRunError(err) {
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
		shape := groups(pause, nil)[0].Shape
		if shape == hitl || shape == inbox {
			for _, yes := range []string{"approve", "accept", "edit"} {
				if strings.Contains(answer.Raw, `"type":"`+yes+`"`) {
					t.Fatalf("%s became %s", body, answer.Raw)
				}
			}
		} else if cancels(in) && !falsy(json.RawMessage(answer.Raw)) {
			t.Fatalf("%s became %s", body, answer.Raw)
		}
	})
}

func cancels(in agui.RunInput) bool {
	return len(in.Resume) == 1 && in.Resume[0].Status == agui.Cancelled
}

// saysYes finds any true, and any word for an approval, in the strings and keys of a JSON text, and
// in JSON text inside those.
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

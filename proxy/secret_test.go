package proxy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/internal/event"
	"holdpoint/internal/event/door"
)

// TestSecretsOfAnswers: if a question asks for a secret, its answer reaches the backend. No event
// and no record of an ended pause may contain the answer. They must not contain its digest either,
// because a PIN can be guessed from its digest. If the same answer is sent again, it must still get
// the same end.
func TestSecretsOfAnswers(t *testing.T) {
	const given, own = "k-given-by-a-person", "the-agents-own-secret"
	digest := (&agui.Answer{Status: agui.Resolved, Payload: []byte(`"` + given + `"`)}).AnsweredDigest()
	credential := callFamilies()["ADK"]
	credential.asks = []string{
		`{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"adk_request_credential"}`,
		fmt.Sprintf(`{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":%q}`, `{"authConfig":{"authScheme":{"type":"apiKey"},"rawAuthCredential":{"authType":"apiKey","apiKey":"`+own+`"}}}`),
		endDelete, finished,
	}
	ofASchema := callFamilies()["ADK"]
	ofASchema.asks = []string{
		`{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"adk_request_input"}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{\"message\":\"Token?\",\"response_schema\":{\"type\":\"string\",\"format\":\"password\",\"writeOnly\":true}}"}`,
		endDelete, finished,
	}
	outcome := callFamily{dialect: "agui", asks: []string{`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"n1","reason":"input_required","responseSchema":{"type":"string","writeOnly":true}}]}}`}}
	for name, f := range map[string]callFamily{"credential": credential, "schema": ofASchema, "outcome": outcome} {
		for _, named := range []bool{true, false} {
			for _, atDesk := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, named %v, at the desk %v", name, named, atDesk), func(t *testing.T) {
					heard := &hearer{}
					g := newFamilyRig(t, f, named, f.asksOnce, func(o *Options) { o.Events = heard })
					asked := g.do(talk("t", ""))
					if strings.Contains(asked, own) {
						t.Errorf("the client is shown %s", asked)
					}
					rec, err := g.store.Load(t.Context(), recordKey("/", "t"), "")
					if err != nil || rec.Pause == nil || !rec.Pause.Interrupts[0].Secret {
						t.Fatalf("%v %+v", err, rec.Pause)
					}
					answer := resumeOf(asked, `"`+given+`"`)
					if atDesk {
						word := door.Decision{Question: rec.Pause.Interrupts[0].ID, Status: agui.Resolved, Payload: []byte(`"` + given + `"`)}
						if _, err := g.h.Decide(t.Context(), recordKey("/", "t"), rec.Pause.ID, maria, []door.Decision{word}); err != nil {
							t.Fatal(err)
						}
						answer = ""
					}
					g.do(talk("t", answer))
					if !slices.ContainsFunc(g.calls, func(body []byte) bool { return strings.Contains(string(body), given) }) {
						t.Errorf("the backend was not given it: %s", g.calls)
					}
					if rec, err = g.store.Load(t.Context(), recordKey("/", "t"), ""); err != nil || rec.Pause != nil || len(rec.Results) != 1 {
						t.Fatalf("%v %+v", err, rec)
					}
					kept, _ := json.Marshal(rec)
					if strings.Contains(string(kept), given) || strings.Contains(string(kept), own) || strings.Contains(string(kept), digest) {
						t.Errorf("the record keeps %s", kept)
					}
					before := g.called()
					if told := g.do(talk("t", resumeOf(asked, `"`+given+`"`))); g.called() != before || strings.Contains(told, "RUN_ERROR") {
						t.Errorf("again: %s", told)
					}
					if told := g.do(talk("t", resumeOf(asked, `"another-`+given+`"`))); g.called() != before || !strings.Contains(told, "RUN_ERROR") {
						t.Errorf("otherwise: %s", told)
					}
					var kinds []event.Kind
					for _, e := range heard.list {
						kinds = append(kinds, e.Kind)
						if all, _ := json.Marshal(e); strings.Contains(string(all), given) || strings.Contains(string(all), own) || slices.ContainsFunc(e.Interrupts, func(i event.Interrupt) bool { return i.AnswerDigest != "" }) {
							t.Errorf("%s tells %s", e.Kind, all)
						}
					}
					for _, want := range []event.Kind{event.Resolved, event.Refused} {
						if !slices.Contains(kinds, want) {
							t.Errorf("no event %s in %s", want, kinds)
						}
					}
				})
			}
		}
	}
}

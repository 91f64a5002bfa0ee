package standard

import (
	"encoding/json"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

// TestProofOfADecision: if a question was decided outside the chat, the dialect must send the
// answer with the question's proof. It must send a client's answer unchanged, and also a cancel
// that Holdpoint makes itself.
func TestProofOfADecision(t *testing.T) {
	asked := func(object string) agui.Pause {
		return dialecttest.WithIDs(agui.Pause{Interrupts: []agui.Interrupt{{Native: "9-1", Object: json.RawMessage(object)}}})
	}
	p, plain := asked(ag2Asks), asked(`{"reason":"tool_call","toolCallId":"c1","metadata":{"ag2":{}}}`)
	id := p.Interrupts[0].ID
	said := func(more string) string {
		return dialecttest.ResumeArray(`{"interruptId":"` + id + `","status":"resolved","payload":true` + more + `}`)
	}
	const own, with = `,"metadata":{"ag2":{"proof":"y"}}`, `[{"interruptId":"9-1","status":"resolved","payload":true,"metadata":{"ag2":{"proof":"x"}}}]`
	for name, c := range map[string]struct {
		p       agui.Pause
		more    string
		decided bool
		want    string
	}{
		"decided":                        {p, "", true, with},
		"decided, and said in the chat":  {p, said(""), true, with},
		"decided, and proven otherwise":  {p, said(own), true, `[{"interruptId":"9-1","status":"resolved","payload":true` + own + `}]`},
		"said in the chat":               {p, said(""), false, `[{"interruptId":"9-1","status":"resolved","payload":true}]`},
		"Holdpoint's own":                {p, "", false, `[{"interruptId":"9-1","status":"resolved","payload":true}]`},
		"decided, and there is no proof": {plain, "", true, `[{"interruptId":"9-1","status":"resolved","payload":true}]`},
	} {
		t.Run(name, func(t *testing.T) {
			in := parse(t, c.more)
			out, _, err := new(Dialect).Begin(&translate.Request{
				Input: in, Pause: c.p, Transcript: dialecttest.NewLog(in.Messages),
				Answers: []agui.Answer{{ID: id, Status: agui.Resolved, Payload: json.RawMessage("true"), Decided: c.decided}},
			})
			if got := gjson.GetBytes(out.Body, "resume").Raw; err != nil || got != c.want {
				t.Errorf("%v\n%s, want\n%s", err, got, c.want)
			}
		})
	}
}

package phrases

import (
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

func TestOrder(t *testing.T) {
	m := func(id, role string) string { return say(id, role, "x") }
	for name, c := range map[string]struct{ list, want string }{
		"none":                        {asks + "," + asked, ""},
		"in its place":                {asks + "," + asked + "," + yes + "," + m("a2", "assistant"), ""},
		"behind a result":             {asks + "," + asked + "," + m("t", "tool") + "," + yes, ""},
		"behind the user's":           {asks + "," + asked + "," + m("u2", "user") + "," + yes + "," + m("a2", "assistant"), "u1 a1 confirm-a1~x u2 a2"},
		"behind a result and more":    {asks + "," + asked + "," + m("t", "tool") + "," + m("u2", "user") + "," + yes, "u1 a1 t confirm-a1~x u2"},
		"before its question":         {yes + "," + asks + "," + asked, "u1 a1 confirm-a1~x"},
		"of no question":              {asks + "," + m("confirm-zz~x", "user") + "," + m("a", "assistant"), ""},
		"kept ids":                    {asks + "," + asked + "," + m("u2", "user") + "," + m("confirm-a1", "user"), "u1 a1 confirm-a1 u2"},
		"of two questions":            {asked + "," + m("b~1", "assistant") + "," + m("u", "user") + "," + m("confirm-b~1~y", "user") + "," + yes, "a1 confirm-a1~x b~1 confirm-b~1~y u"},
		"two of one question":         {asked + "," + yes + "," + m("u", "user") + "," + m("confirm-a1~y", "user"), "a1 confirm-a1~y confirm-a1~x u"},
		"an assistant's is no answer": {asked + "," + m("u", "user") + "," + m("confirm-a1~y", "assistant"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			list, moved := order(input(t, c.list, "").Messages)
			got := ""
			if moved {
				got = told(gjson.ParseBytes(agui.MessageList(list)))
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestAnOldAnswer: the history contains an approval that was sent earlier. The client may have the
// agent's reply generated anew, or the run of the approval may have failed. In both cases, the
// backend must not act on the approval again.
func TestAnOldAnswer(t *testing.T) {
	d := newDialect(t)
	more := say("u2", "user", "So?")
	failed := translate.EndedPause{Pause: pause(t), Failed: true}
	for name, c := range map[string]struct {
		list  string
		ended []translate.EndedPause
		// The ids of the messages that are sent, empty if the request is unchanged, or the code of
		// the refusal.
		want string
	}{
		"a yes at the end":                    {asks + "," + asked + "," + yes, nil, "UNKNOWN_INTERRUPT_ID"},
		"a yes at the end, then a system":     {asks + "," + asked + "," + yes + "," + say("s", "system", "x"), nil, "UNKNOWN_INTERRUPT_ID"},
		"a yes with a kept id":                {asks + "," + asked + "," + say("confirm-a1", "user", yesDefault), nil, "UNKNOWN_INTERRUPT_ID"},
		"a yes in other words":                {asks + "," + asked + "," + say("confirm-a1~x", "user", "Ja."), nil, "UNKNOWN_INTERRUPT_ID"},
		"a client's own id":                   {asks + "," + asked + "," + say("confirm-6e0f", "user", "What does it cost?"), nil, ""},
		"a no at the end":                     {asks + "," + asked + "," + no, nil, ""},
		"a yes before more":                   {asks + "," + asked + "," + yes + "," + more, nil, ""},
		"a yes that ended well":               {asks + "," + asked + "," + yes + "," + more, []translate.EndedPause{{Pause: pause(t)}}, ""},
		"a yes whose run failed":              {asks + "," + asked + "," + yes + "," + more, []translate.EndedPause{failed}, "u1 a1 u2"},
		"a no whose run failed":               {asks + "," + asked + "," + no + "," + more, []translate.EndedPause{failed}, ""},
		"another's yes":                       {asks + "," + asked + "," + say("confirm-a1~other", "user", yesDefault) + "," + more, []translate.EndedPause{failed}, ""},
		"another dialect's pause that failed": {asks + "," + asked + "," + yes + "," + more, []translate.EndedPause{{Pause: agui.Pause{ID: "p", Dialect: "agui", Interrupts: pause(t).Interrupts}, Failed: true}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			in := input(t, c.list, "")
			out, _, err := d.Begin(&translate.Request{Input: in, ClientMessages: in.Messages, EndedPauses: c.ended})
			got := string(dialecttest.Code(err))
			if out.Body != nil {
				got = told(gjson.GetBytes(out.Body, "messages"))
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

package draft

import (
	"testing"

	"holdpoint/internal/agui"
)

func TestEarlierAnswersAtTheEndGo(t *testing.T) {
	yes := func(call string) string { return toolMessage("t-"+call, call, `{"approved":true}`) }
	no := func(call string) string { return toolMessage("t-"+call, call, `{"approved":false}`) }
	done := func(call string) string { return toolMessage("t-"+call, call, "done") }
	for name, c := range map[string]struct{ messages, want string }{
		"nothing":               {"", ""},
		"with the call":         {user("u") + "," + assistant("m0", "c0") + "," + yes("c0"), user("u")},
		"a denial too":          {user("u") + "," + assistant("m0", "c0") + "," + no("c0"), user("u")},
		"with those before":     {user("u") + "," + assistant("m0", "c0") + "," + yes("c0") + "," + assistant("m1", "c1") + "," + no("c1"), user("u")},
		"all that there is":     {assistant("m0", "c0") + "," + yes("c0"), ""},
		"with every result":     {user("u") + "," + assistant("m0", "c0") + "," + done("c0") + "," + yes("c0"), user("u")},
		"but not other results": {assistant("m0", "c0", "c1") + "," + yes("c0") + "," + done("c1"), assistant("m0", "c1") + "," + done("c1")},
		"nor what is further up": {
			assistant("m0", "c0") + "," + yes("c0") + "," + user("u"), assistant("m0", "c0") + "," + yes("c0") + "," + user("u"),
		},
		"nor what stands before the question": {
			assistant("m0", "c0") + "," + yes("c0") + "," + assistant("m1", "c1"), assistant("m0", "c0") + "," + yes("c0") + "," + assistant("m1", "c1"),
		},
		"nor the result of a call that is not there": {user("u") + "," + yes("c0"), user("u") + "," + yes("c0")},
	} {
		t.Run(name, func(t *testing.T) {
			in := inputWith(t, c.messages, "")
			got := string(agui.MessageList(newDialect(t, Options{}).withoutEarlier(in, in.Messages)))
			if want := "[" + c.want + "]"; got != want {
				t.Errorf("%s, want\n%s", got, want)
			}
		})
	}
}

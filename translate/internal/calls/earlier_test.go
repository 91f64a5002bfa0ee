package calls

import (
	"fmt"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate/dialecttest"
	"holdpoint/translate/kit"
	"holdpoint/translate/yesno"
)

func newPlain(t testing.TB, yes, no yesno.Template) *Plain {
	t.Helper()
	words, err := yesno.NewWords(yes, no)
	if err != nil {
		t.Fatal(err)
	}
	return NewPlain(Plain{Table: Table{Dialect: "d"}, Tools: kit.Names{"ask_*"}, Words: words, RemovesCalls: true}, func(tool, said string) string { return tool + said })
}

func user(id string) string { return `{"id":"` + id + `","role":"user","content":"hi"}` }

func assistant(id string, calls ...string) string {
	var list []string
	for _, c := range calls {
		list = append(list, `{"id":"`+c+`","type":"function","function":{"name":"ask_me","arguments":"{}"}}`)
	}
	return `{"id":"` + id + `","role":"assistant","toolCalls":[` + strings.Join(list, ",") + `]}`
}

func toolMessage(id, call, content string) string {
	return fmt.Sprintf(`{"id":%q,"role":"tool","toolCallId":%q,"content":%s}`, id, call, dialecttest.Quoted(content))
}

func input(t testing.TB, messages, more string) agui.RunInput {
	t.Helper()
	return dialecttest.Input(t, `{"threadId":"t1","runId":"r1","messages":[`+messages+`]`+more+`}`)
}

func TestEarlierAnswersAtTheEndAreRemoved(t *testing.T) {
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
			in := input(t, c.messages, "")
			got := string(agui.MessageList(newPlain(t, `{"approved":true}`, `{"approved":false}`).withoutEarlier(in, in.Messages, nil)))
			if want := "[" + c.want + "]"; got != want {
				t.Errorf("%s, want\n%s", got, want)
			}
		})
	}
}

// TestCallsComeLast checks that the asking calls are moved to the end of the history, whatever else
// the run sent, so that their answers directly follow them.
func TestCallsComeLast(t *testing.T) {
	said := func(id string) string { return `{"id":"` + id + `","role":"assistant","content":"hm"}` }
	for name, c := range map[string]struct{ messages, want string }{
		"nothing to move":    {user("u") + "," + assistant("m1", "c1"), ""},
		"a text behind them": {user("u") + "," + assistant("m1", "c1") + "," + said("m2"), user("u") + "," + said("m2") + "," + assistant("m1", "c1")},
		"a call with a result": {
			assistant("m1", "c1", "c8") + "," + toolMessage("t8", "c8", "x") + "," + assistant("m2", "c9") + "," + toolMessage("t9", "c9", "x"),
			assistant("m2", "c9") + "," + toolMessage("t9", "c9", "x") + "," + assistant("m1", "c1", "c8") + "," + toolMessage("t8", "c8", "x"),
		},
		"two of them":         {assistant("m1", "c1") + "," + said("m2") + "," + assistant("m3", "c2"), said("m2") + "," + assistant("m1", "c1") + "," + assistant("m3", "c2")},
		"a user's words stay": {assistant("m1", "c1") + "," + user("u") + "," + said("m2"), ""},
		"no call":             {user("u") + "," + said("m2"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			in := input(t, c.messages, "")
			got := string(agui.MessageList(callsLast(in.Messages, map[string]bool{"c1": true, "c2": true})))
			if c.want == "" {
				c.want = c.messages
			}
			if got != "["+c.want+"]" {
				t.Errorf("%s, want\n%s", got, c.want)
			}
		})
	}
}

package draft

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate/dialecttest"
)

func TestAnswers(t *testing.T) {
	one := pausedBy(t, v1(`{"id":"a"}`))
	bare := pausedBy(t, v1(`{"reason":"r"}`))
	number := pausedBy(t, v1(`{"id":7}`))
	two := pausedBy(t, ended(`"interrupts":[{"id":"a"},{"id":"b"}]`))
	none := agui.Pause{}
	object := func(members string) string { return `"resume":{` + members + `}` }
	for name, c := range map[string]struct {
		pause      agui.Pause
		more, want string
		code       agui.Code
	}{
		"none":                               {one, ``, ``, ""},
		"entries":                            {two, dialecttest.ResumeArray(dialecttest.Entry("b~r2", `1`), dialecttest.Entry("a~r1", ``)), `b~r2 resolved 1; a~r1 cancelled `, ""},
		"command.resume":                     {one, dialecttest.Command(`{"x":1}`), `a~r1 resolved {"x":1} *`, ""},
		"an object":                          {one, object(`"interruptId":"a~r1","payload":{"approved":true}`), `a~r1 resolved {"approved":true} *`, ""},
		"an object with the backend's id":    {one, object(`"interruptId":"a","payload":false`), `a~r1 resolved false *`, ""},
		"an object with the number":          {number, object(`"interruptId":7,"payload":0`), `7~r1 resolved 0 *`, ""},
		"an object without id":               {one, object(`"payload":{"x":1}`), `a~r1 resolved {"x":1} *`, ""},
		"an object with a null id":           {bare, object(`"interruptId":null,"payload":""`), `~r1 resolved "" *`, ""},
		"an object without payload":          {one, object(`"interruptId":"a"`), `a~r1 resolved  *`, ""},
		"an empty object":                    {bare, object(``), `~r1 resolved  *`, ""},
		"an object that cancels":             {one, object(`"interruptId":"a","status":"cancelled","payload":{"approved":true}`), `a~r1 cancelled  *`, ""},
		"an object that resolves":            {one, object(`"status":"resolved","payload":1`), `a~r1 resolved 1 *`, ""},
		"an object for another":              {one, object(`"interruptId":"z","payload":true`), `z resolved true *`, ""},
		"an object for one of several":       {two, object(`"payload":true`), `a~r1 resolved true *`, ""},
		"an object that names one":           {two, object(`"interruptId":"b","payload":true`), `b~r2 resolved true *`, ""},
		"an object, nothing open":            {none, object(`"interruptId":"a","payload":true`), `a resolved true *`, ""},
		"an object without id, nothing open": {none, object(`"payload":true`), ` resolved true *`, ""},
		"an object of another kind":          {one, object(`"interrupts":[{"id":"a","value":true}]`), ``, agui.InvalidPayload},
		"an object with another status":      {one, object(`"interruptId":"a","status":"maybe"`), ``, agui.InvalidPayload},
		"an object with an id of no kind":    {one, object(`"interruptId":{},"payload":true`), ``, agui.InvalidPayload},
		"two forms that say the same":        {one, object(`"payload":{"x":1}`) + `,` + dialecttest.Command(`{"x": 1}`), `a~r1 resolved {"x": 1} *`, ""},
		"two forms that do not":              {one, object(`"payload":false`) + `,` + dialecttest.Command(`true`), ``, agui.ResumeConflict},
		"two forms, nothing open":            {none, object(`"payload":false`) + `,` + dialecttest.Command(`true`), ` resolved true *;  resolved false *`, ""},
		"Mastra's echo of another day":       {none, `"forwardedProps":{"command":{"resume":1,"interruptEvent":"{\"type\":\"mastra_suspend\"}"}}`, ` resolved 1 *`, ""},
		"one twice in a map":                 {two, dialecttest.Command(`{"a":1,"a~r1":1}`), ``, agui.InvalidPayload},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := newDialect(t, Options{}).Answers(input(t, c.more), c.pause)
			if lines(got) != c.want || dialecttest.Code(err) != c.code {
				t.Errorf("%q (%v), want %q", lines(got), err, c.want)
			}
		})
	}
}

func lines(answers []agui.Answer) string {
	var list []string
	for _, a := range answers {
		list = append(list, a.ID+" "+string(a.Status)+" "+string(a.Payload)+map[bool]string{true: " *"}[a.Native]+map[bool]string{true: " in " + a.Message.ID}[a.Message.ID != ""])
	}
	return strings.Join(list, "; ")
}

func TestAnswersInToolMessages(t *testing.T) {
	asks := slices.Concat(call("c1", "pando_permission_request", "{}"), call("c2", "pando_permission_request", "{}"))
	p := pausedBy(t, append(asks, ended(`"outcome":"interrupt"`))...)
	other := pausedBy(t, v1(`{"id":"c1"}`))
	other.Interrupts[0].Object = agui.SetString(other.Interrupts[0].Object, "toolCallId", "c1")
	yes, no := `{"approved":true}`, `{"approved":false}`
	for name, c := range map[string]struct {
		pause          agui.Pause
		messages, more string
		want           string
		code           agui.Code
	}{
		"both":                          {p, user("u") + "," + toolMessage("t1", "c1", yes) + "," + toolMessage("t2", "c2", no), "", `c1~r1 resolved {"approved":true} * in t1; c2~r2 resolved {"approved":false} * in t2`, ""},
		"one":                           {p, toolMessage("t1", "c1", yes), "", `c1~r1 resolved {"approved":true} * in t1`, ""},
		"another call":                  {p, toolMessage("t1", "c9", yes), "", ``, ""},
		"a result":                      {p, toolMessage("t1", "c1", "deleted"), "", ``, ""},
		"a word that some read as true": {p, toolMessage("t2", "c2", `{"approved":"yes"}`), "", ` resolved  * in t2`, ""},
		"not at the end":                {p, toolMessage("t1", "c1", yes) + "," + user("u"), "", ``, ""},
		"told as a result":              {p, toolMessage("c1~r1", "c1", yes), "", `c1~r1 resolved {"approved":true} * in c1~r1`, ""},
		"the role in capitals":          {p, strings.Replace(toolMessage("t1", "c1", yes), `"tool"`, `"Tool"`, 1), "", ` resolved  * in t1`, ""},
		"the call's key":                {p, strings.Replace(toolMessage("t1", "c1", yes), "toolCallId", "ToolCallID", 1), "", ` resolved  * in t1`, ""},
		"the word in capitals":          {p, toolMessage("t1", "c1", `{"Approved":true}`), "", ` resolved  * in t1`, ""},
		"the word twice":                {p, toolMessage("t1", "c1", `{"approved":1,"approved":true}`), "", ` resolved  * in t1`, ""},
		"the content twice":             {p, strings.Replace(toolMessage("t1", "c1", yes), `"content"`, `"content":"x","content"`, 1), "", ` resolved  * in t1`, ""},
		"too deep to be read":           {p, toolMessage("t1", "c1", `{"approved":true,"x":`+strings.Repeat("[", 1001)+strings.Repeat("]", 1001)+`}`), "", ` resolved  * in t1`, ""},
		"of a call in another spelling": {
			agui.Pause{}, `{"id":"m1","role":"assistant","toolCalls":[{"ID":"c1","Function":{"Name":"pando_permission_request"}}]},` + toolMessage("t1", "c1", yes), "",
			`c1 resolved  * in t1`, "",
		},
		"a result in another spelling": {agui.Pause{}, `{"id":"m1","role":"assistant","toolCalls":[{"id":"c1","function":{"name":"vote"}}]},` + toolMessage("t1", "c1", `{"Approved":true}`), "", ``, ""},
		"twice":                        {p, toolMessage("t1", "c1", yes) + "," + toolMessage("t2", "c1", yes), "", `c1~r1 resolved {"approved":true} * in t2`, ""},
		"in two ways":                  {p, toolMessage("t1", "c1", no) + "," + toolMessage("t2", "c1", yes), "", ``, agui.ResumeConflict},
		"a pause of another form":      {other, toolMessage("t1", "c1", yes), "", ``, ""},
		"a call that nobody made":      {agui.Pause{}, toolMessage("t1", "c1", yes), "", ``, ""},
		"a call that no question is open for": {
			agui.Pause{}, assistant("m1", "c1") + "," + toolMessage("t1", "c1", yes), "", `c1 resolved  * in t1`, "",
		},
		"that of another day beside one that is": {
			p, assistant("m1", "c9") + "," + toolMessage("t1", "c1", yes) + "," + toolMessage("t2", "c9", yes), "",
			`c1~r1 resolved {"approved":true} * in t1; c9 resolved  * in t2`, "",
		},
		"the client's own tool": {
			agui.Pause{}, assistant("m1", "c1") + "," + toolMessage("t1", "c1", yes), `"tools":[{"name":"pando_permission_request"}]`, ``, "",
		},
		"beside an entry, for another call": {
			p, assistant("m1", "c9") + "," + toolMessage("t1", "c9", yes), dialecttest.ResumeArray(dialecttest.Entry("c1~r1", yes)), `c1~r1 resolved {"approved":true}; c9 resolved  * in t1`, "",
		},
		"beside entries (CopilotKit)": {
			p, toolMessage("t1", "c1", yes) + "," + toolMessage("t2", "c2", no), dialecttest.ResumeArray(dialecttest.Entry("c1~r1", yes), dialecttest.Entry("c2~r2", no)),
			`c1~r1 resolved {"approved":true}; c2~r2 resolved {"approved":false}`, "",
		},
		"beside a cancel (CopilotKit)": {p, toolMessage("t1", "c1", `{"status":"cancelled"}`), dialecttest.ResumeArray(dialecttest.Entry("c1~r1", "")), `c1~r1 cancelled `, ""},
		"a yes beside a no":            {p, toolMessage("t1", "c1", yes), dialecttest.ResumeArray(dialecttest.Entry("c1~r1", no)), ``, agui.ResumeConflict},
		"a no beside a yes":            {p, toolMessage("t1", "c1", no), dialecttest.ResumeArray(dialecttest.Entry("c1~r1", yes)), ``, agui.ResumeConflict},
		"a yes beside a cancel that has a yes with it": {
			p, toolMessage("t1", "c1", yes), `"resume":[{"interruptId":"c1~r1","status":"cancelled","payload":{"approved":true}}]`, ``, agui.ResumeConflict,
		},
		"a yes beside a cancel": {p, toolMessage("t1", "c1", yes), dialecttest.ResumeArray(dialecttest.Entry("c1~r1", "")), ``, agui.ResumeConflict},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := dialecttest.Answers(newDialect(t, Options{}), inputWith(t, c.messages, c.more), c.pause)
			if lines(got) != c.want || dialecttest.Code(err) != c.code {
				t.Errorf("%q (%v), want %q", lines(got), err, c.want)
			}
		})
	}
}

// TestDecisions checks where a tool message is a decision. A message that a backend could read as
// an approval is a decision anywhere in the history. A denial is a decision only at the end of the
// history.
func TestDecisions(t *testing.T) {
	yes, no := `{"approved":true}`, `{"approved":false}`
	for name, c := range map[string]struct{ messages, more, want string }{
		"with words behind it":       {assistant("m1", "c1") + "," + toolMessage("t1", "c1", yes) + "," + user("u"), "", `1 c1`},
		"at the end":                 {assistant("m1", "c1") + "," + toolMessage("t1", "c1", yes), "", `1 c1`},
		"two":                        {assistant("m1", "c1", "c2") + "," + toolMessage("t1", "c1", yes) + "," + toolMessage("t2", "c2", yes), "", `1 c1; 2 c2`},
		"a no at the end":            {assistant("m1", "c1") + "," + toolMessage("t1", "c1", no), "", `1 c1`},
		"a no with words behind it":  {assistant("m1", "c1") + "," + toolMessage("t1", "c1", no) + "," + user("u"), "", ``},
		"a result":                   {assistant("m1", "c1") + "," + toolMessage("t1", "c1", "approved"), "", ``},
		"no call":                    {toolMessage("t1", "c1", yes), "", ``},
		"another tool's":             {strings.Replace(assistant("m1", "c1"), "pando_permission_request", "vote", 1) + "," + toolMessage("t1", "c1", yes), "", ``},
		"the client's own tool":      {assistant("m1", "c1") + "," + toolMessage("t1", "c1", yes), `"tools":[{"name":"pando_permission_request"}]`, ``},
		"in another spelling":        {strings.Replace(assistant("m1", "c1"), "toolCalls", "tool_calls", 1) + "," + strings.Replace(toolMessage("t1", "c1", yes), "toolCallId", "tool_call_id", 1), "", `1 `},
		"the word in escapes":        {assistant("m1", "c1") + "," + toolMessage("t1", "c1", `{"\u0061pproved":true}`), "", `1 c1`},
		"the words in escapes":       {assistant("m1", "c1") + "," + strings.Replace(toolMessage("t1", "c1", yes), "approved", `\u0061ppro\u0076ed`, 1), "", `1 c1`},
		"both words":                 {assistant("m1", "c1") + "," + toolMessage("t1", "c1", `{"approved":false,"Approved":true}`), "", `1 `},
		"a no that may be a yes":     {assistant("m1", "c1") + "," + toolMessage("t1", "c1", `{"Approved":false}`), "", `1 `},
		"the call behind its answer": {toolMessage("t1", "c1", yes) + "," + assistant("m1", "c1"), "", `0 c1`},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for d := range newDialect(t, Options{}).Replies(inputWith(t, c.messages, c.more), "") {
				if line := fmt.Sprintf("%d %s", d.At, d.CallID); d.Decides && (len(got) == 0 || got[len(got)-1] != line) {
					got = append(got, line)
				}
			}
			if strings.Join(got, "; ") != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

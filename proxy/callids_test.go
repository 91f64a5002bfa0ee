package proxy

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// TestIDsThatAreNotStrings: the ids of a call and its tool message are numbers, or are missing. A
// number is the same id as its text. In every family the backend must get either both the call and
// the tool message or neither of them. It must not get a yes that nobody gave.
func TestIDsThatAreNotStrings(t *testing.T) {
	for family, f := range callFamilies() {
		for _, named := range []bool{true, false} {
			for _, denied := range []bool{true, false} {
				for what, ids := range map[string]struct{ call, message string }{
					"a number, by its text": {`"id":7,`, `,"toolCallId":"7"`},
					"a text, by a number":   {`"id":"7",`, `,"toolCallId":7`},
					"a number twice":        {`"id":7,`, `,"toolCallId":7`},
					"a text":                {`"id":"7",`, `,"toolCallId":"7"`},
					"null":                  {`"id":null,`, `,"toolCallId":null`},
					"no id":                 {``, ``},
				} {
					t.Run(fmt.Sprintf("%s, named %v, denied %v, %s", family, named, denied, what), func(t *testing.T) {
						now := time.Now()
						g := newFamilyRig(t, f, named, f.asksOnce, expiring(&now))
						if denied {
							g.do(talk("t", resumeOf(g.do(talk("t", "")), f.no)))
						}
						for _, content := range []string{f.says[0], f.no, "done"} {
							call := fmt.Sprintf(`{"id":"a9","role":"assistant","toolCalls":[{%s"type":"function","function":{"name":%q,"arguments":"{}"}}]}`, ids.call, f.tool)
							message := fmt.Sprintf(`{"id":"m1","role":"tool"%s,"content":%q}`, ids.message, content)
							other := `{"id":"a8","role":"assistant","toolCalls":[{"id":8,"type":"function","function":{"name":"read_file","arguments":"{}"}}]}`
							read := `{"id":"m8","role":"tool","toolCallId":8,"content":"text"}`
							for _, messages := range [][]string{{call, message, noWords}, {other, read, call, message, noWords}, {call, message, calls(f.tool)}} {
								before := g.called()
								g.do(talk("t", "", messages...))
								for _, body := range g.calls[before:] {
									if broken := brokenPairs(body); len(broken) > 0 {
										t.Errorf("%s: the backend got %q of\n%s", messages, broken, body)
									}
									if content == f.says[0] && arrived(body, content) {
										t.Errorf("%s: the backend got the yes\n%s", messages, body)
									}
								}
							}
						}
					})
				}
			}
		}
	}
}

// brokenPairs returns the ids of calls without a result and of results without a call, in the
// messages of a request. A provider of models refuses such a request. Calls in the last message are
// left out. All calls without an id count as one call.
func brokenPairs(body []byte) (broken []string) {
	var open []string
	list := gjson.GetBytes(body, "messages").Array()
	for at, m := range list {
		if m.Get("role").Str == "tool" {
			id := agui.IDText(m.Get("toolCallId"))
			if n := slices.Index(open, id); n >= 0 {
				open = slices.Delete(open, n, n+1)
			} else {
				broken = append(broken, "result of "+id)
			}
			continue
		}
		for _, id := range open {
			broken = append(broken, "call "+id)
		}
		open = nil
		for _, c := range m.Get("toolCalls").Array() {
			if id := agui.IDText(c.Get("id")); at < len(list)-1 {
				open = append(open, id)
			}
		}
	}
	return broken
}

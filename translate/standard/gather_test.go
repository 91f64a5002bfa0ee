package standard

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
	"holdpoint/translate/kit"
)

func adkAsks(n string) string {
	return `{"id":"adk-` + n + `","reason":"confirmation","toolCallId":"adk-` + n + `","metadata":{"adk":{"originalFunctionCall":{"id":"call-` + n + `"}}}}`
}

// TestCallsOfOpenConfirmationsAreInOneMessage: ADK reads only the answers to the calls of the last
// message that has calls. So the calls of all open confirmations must be moved into one message at
// the end.
func TestCallsOfOpenConfirmationsAreInOneMessage(t *testing.T) {
	call := func(id string) string {
		return `{"id":"` + id + `","type":"function","function":{"name":"f","arguments":"{\"of\":\"` + id + `\"}"}}`
	}
	said := func(id string, calls ...string) string {
		return `{"id":"` + id + `","role":"assistant","toolCalls":[` + strings.Join(calls, ",") + `]}`
	}
	const user, result = `{"id":"u1","role":"user","content":"Go."}`, `{"id":"x1","role":"tool","toolCallId":"show","content":"shown"}`
	for name, c := range map[string]struct {
		open     []string
		messages []string
		want     string // each message's id, with ":" and the ids of its calls
	}{
		"each in a message of its own":        {[]string{"1", "2"}, []string{user, said("m1", call("adk-1")), said("m2", call("adk-2"))}, "u1 adk-1~r1:adk-1,adk-2"},
		"one message, beside another call":    {[]string{"1", "2"}, []string{user, said("m1", call("call-1"), call("adk-1"), call("adk-2"))}, "u1 m1:call-1 adk-1~r1:adk-1,adk-2"},
		"in the order of the questions":       {[]string{"1", "2"}, []string{said("m2", call("adk-2")), said("m1", call("adk-1"))}, "adk-1~r1:adk-1,adk-2"},
		"the client has none of them":         {[]string{"1", "2"}, []string{user}, "u1 adk-1~r1:adk-1,adk-2"},
		"a client's result behind them":       {[]string{"1", "2"}, []string{user, said("m0", call("show")), said("m1", call("adk-1")), said("m2", call("adk-2")), result}, "u1 m0:show x1 adk-1~r1:adk-1,adk-2"},
		"a client's result behind one":        {[]string{"1"}, []string{user, said("m0", call("show")), said("m1", call("adk-1")), result}, "u1 m0:show x1 adk-1~r1:adk-1"},
		"one that stands last stays":          {[]string{"1"}, []string{user, said("m0", call("call-1")), said("m1", call("adk-1"))}, "u1 m0:call-1 m1:adk-1"},
		"one that the client has not, as is":  {[]string{"1"}, []string{user}, "u1"},
		"a message that says something stays": {[]string{"1", "2"}, []string{`{"id":"m1","role":"assistant","content":"Hm.","toolCalls":[` + call("adk-1") + `]}`, said("m2", call("adk-2"))}, "m1 adk-1~r1:adk-1,adk-2"},
	} {
		t.Run(name, func(t *testing.T) {
			var asked, entries []string
			for _, n := range c.open {
				asked = append(asked, adkAsks(n))
				entries = append(entries, dialecttest.Entry("adk-"+n+"~r"+n, `true`))
			}
			in := parse(t, dialecttest.ResumeArray(entries...))
			for _, m := range c.messages {
				in.Messages = append(in.Messages, agui.ParseMessage([]byte(m)))
			}
			in = in.WithMessages(in.Messages)
			p := pausedBy(t, asked...)
			for _, m := range in.Messages {
				if m.Role != "tool" {
					p.SeenMessages = append(p.SeenMessages, agui.NewSeenMessage(m))
				}
			}
			out, _, err := resume(t, p, in)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, m := range gjson.GetBytes(out.Body, "messages").Array() {
				s := m.Get("id").Str
				var ids []string
				for _, c := range m.Get("toolCalls").Array() {
					ids = append(ids, c.Get("id").Str)
				}
				if ids != nil {
					s += ":" + strings.Join(ids, ",")
				}
				got = append(got, s)
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("sent %s, want %s\n%s", got, c.want, out.Body)
			}
		})
	}
}

// TestApprovedCallWithoutAResult: the backend sends a result for each call that it runs. If an
// approved call has no result at the end of the run, it must be in doubt whether the call ran.
func TestApprovedCallWithoutAResult(t *testing.T) {
	result := func(call string) string {
		return `{"type":"TOOL_CALL_RESULT","messageId":"m-` + call + `","toolCallId":"` + call + `","content":"x"}`
	}
	two := adkAsks("1") + "," + adkAsks("2")
	const yes, no = `{"confirmed":true}`, `{"confirmed":false}`
	const approved, denied = `{"approved":true}`, `{"approved":false}`
	const pydantic = `{"id":"int-c1","reason":"tool_call","toolCallId":"c1","responseSchema":` + schema + `}`
	for name, c := range map[string]struct {
		asked   string
		answers []string
		stream  []string
		doubt   bool
	}{
		"ADK, with its result":                {adkAsks("1"), []string{yes}, []string{result("call-1"), finished}, false},
		"ADK, without":                        {adkAsks("1"), []string{yes}, []string{finished}, true},
		"ADK, another's":                      {adkAsks("1"), []string{yes}, []string{result("adk-1"), finished}, true},
		"ADK, denied":                         {adkAsks("1"), []string{no}, []string{finished}, false},
		"ADK, cancelled":                      {adkAsks("1"), []string{""}, []string{finished}, false},
		"ADK, one of two":                     {two, []string{yes, yes}, []string{result("call-2"), finished}, true},
		"ADK, one approved of two":            {two, []string{no, yes}, []string{result("call-2"), finished}, false},
		"ADK, both":                           {two, []string{yes, yes}, []string{result("call-1"), result("call-2"), finished}, false},
		"ADK asks again, it may come later":   {adkAsks("1"), []string{yes}, []string{outcome(adkAsks("3"))}, false},
		"ADK fails, which says enough":        {adkAsks("1"), []string{yes}, []string{`{"type":"RUN_ERROR","message":"m"}`}, false},
		"pydantic-ai, with its result":        {pydantic, []string{approved}, []string{result("c1"), finished}, false},
		"pydantic-ai, without":                {pydantic, []string{approved}, []string{finished}, true},
		"pydantic-ai, denied":                 {pydantic, []string{denied}, []string{finished}, false},
		"Mastra, whose tools may fail unseen": {mastraAsks, []string{approved}, []string{finished}, false},
		"anybody":                             {`{"id":"a","reason":"tool_call","toolCallId":"c1","responseSchema":` + schema + `}`, []string{approved}, []string{finished}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := pausedBy(t, c.asked)
			for n := range p.Interrupts {
				p.Interrupts[n].Yes, p.Interrupts[n].No = kit.Words(p.Interrupts[n])
			}
			var entries []string
			for n, payload := range c.answers {
				entries = append(entries, dialecttest.Entry(p.Interrupts[n].ID, payload))
			}
			in := parse(t, dialecttest.ResumeArray(entries...))
			_, run, err := resume(t, p, in)
			if err != nil {
				t.Fatal(err)
			}
			res := play(t, run, dialecttest.NewLog(nil), append([]string{started}, c.stream...)...)
			if got := res.Fate == translate.InDoubt; got != c.doubt {
				t.Errorf("%+v", res)
			}
		})
	}
}

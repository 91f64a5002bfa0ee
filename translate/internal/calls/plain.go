package calls

import (
	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
	"holdpoint/translate/yesno"
)

// Plain is the Table of backends that ask by a plain call, and take a yes or a no for its answer.
// The stream has nothing else that tells of a pause: the operator names the tools, and two
// templates (package yesno) say what a yes and a no look like. A resume brings the history with the
// answers as its last messages, as a client brings them whose user has answered. How such a run
// ends is the dialect's.
type Plain struct {
	Table
	Tools kit.Names // their calls ask, except those that the request declares
	Words yesno.Words
	// Forgets reports that a call of these tools without a result is taken out of a run without
	// answers, also if the record does not know that it asked: models refuse such a call, and the
	// record may have forgotten it.
	Forgets bool
	// Asked reports whether a pause was asked so.
	Asked func(agui.Pause) bool
}

// NewPlain returns a Plain with its Table. message returns what a question says. said is the text
// in the call's arguments, "" if there is none.
func NewPlain(p Plain, message func(tool, said string) string) *Plain {
	k := &Kind{Told: Late, Say: func(asked PrivateState, a agui.Answer) (string, bool, error) {
		content, err := p.Words.Content(a, asked.Args)
		return content, a.Status != agui.Resolved || !yesno.Approves(gjson.ParseBytes(a.Payload)), err
	}}
	p.Kinds, p.Resume, p.cleaned, p.history = []*Kind{k}, Last, p.Cleaned, p.messagesBefore
	p.Ask = func(c agui.Call, _ *translate.Request) (Question, bool) {
		if !p.Tools.Match(c.Name) {
			return Question{}, false
		}
		said := Text(kit.ParseText(gjson.Result{Type: gjson.String, Str: c.Args}))
		if said == c.Args {
			said = ""
		}
		return Question{Kind: k, Reason: "tool_call", Message: message(c.Name, said), Call: c.ID, Schema: p.Words.Schema()}, true
	}
	p.Reads = func(m *ToolMessage) bool {
		m.says = p.decision(m.Object)
		return m.says != yesno.Nothing && (m.Last || m.says != yesno.No)
	}
	p.Judge = p.judge
	p.Owner = func(tool string, _ bool) Owner {
		if p.Tools.Match(tool) {
			return Asks
		}
		return Others
	}
	return &p
}

// Text returns the text of a payload. The payload is a text itself, or has one under a name that
// producers use.
func Text(payload gjson.Result) string {
	if payload.Type == gjson.String {
		return payload.Str
	}
	if payload.IsObject() {
		for _, key := range []string{"message", "prompt", "question", "title", "description"} {
			if v := payload.Get(key); v.Type == gjson.String && v.Str != "" {
				return v.Str
			}
		}
	}
	return ""
}

// judge says what a message is. Backends look for answers at the end of the messages, because a
// history also keeps the answers to older questions and the results of approved calls. Further up a
// yes may stand only if the record knows that it was given. Backends read keys in any case, and
// take the last of two. A message that only the backend would take for a decision answers nothing
// here.
func (p *Plain) judge(one *translate.Reply, m *ToolMessage) {
	one.Unclear, one.Past, one.Kept = m.says == yesno.Unclear || len(m.calls) == 0, !m.Last, !m.Last
	one.Calls = m.calls // all of them, because a backend may take it for the answer to each
	if one.Unclear {
		one.Names = ""
	}
	one.Asked = m.Owner == Asks || p.Forgets && m.known && m.Strange
	one.AskedUnlessLeft, one.AskedIfKnown = false, m.Owner == Clients
}

// AnswerIn implements translate.HistoryReader.
func (p *Plain) AnswerIn(m agui.Message, reply translate.Reply, i agui.Interrupt) (agui.Answer, bool) {
	object := gjson.ParseBytes(m.JSON)
	if says := p.decision(object); reply.Past || says != yesno.Yes && says != yesno.No {
		return agui.Answer{}, false
	}
	payload, ok := p.Words.Payload(object.Get("content"), argumentsOf(i))
	return agui.Answer{Status: agui.Resolved, Payload: payload}, ok
}

// ReadsDecisions implements translate.DecisionReader.
func (p *Plain) ReadsDecisions(spoken string) bool {
	return len(p.Tools) > 0 && (spoken == "" || spoken == p.Dialect)
}

// Decides implements translate.DecisionReader. Backends look for answers at the end. One that keeps
// its threads may look further up, and only a yes lets something run there.
func (p *Plain) Decides(m agui.Message, last bool, _ string) bool {
	if len(p.Tools) == 0 || !last && !p.Forgets {
		return false
	}
	says := p.decision(gjson.ParseBytes(m.JSON))
	return last && says != yesno.Nothing || says == yesno.Yes || says == yesno.Unclear
}

// Harmless implements translate.DecisionReader.
func (p *Plain) Harmless(m agui.Message) agui.Message {
	listed := kit.Listed(m)
	if p.decision(gjson.ParseBytes(listed.JSON)) != yesno.Nothing {
		return kit.Silenced(m)
	}
	return listed
}

// decision returns what a tool message says, in whatever spelling. What can be read in another way
// is unclear.
func (p *Plain) decision(m gjson.Result) yesno.Said {
	contents, is := kit.Members(m, "content"), yesno.Nothing
	for _, v := range contents {
		if is = p.Words.Read(v); is != yesno.Nothing {
			break
		}
	}
	plain := len(contents) == 1 && m.Get("content").Exists() && m.Get("role").Str == "tool" &&
		len(kit.Members(m, "role")) == 1 && len(kit.Members(m, "toolCallId")) == 1 && m.Get("toolCallId").Exists()
	if is != yesno.Nothing && !plain {
		return yesno.Unclear
	}
	return is
}

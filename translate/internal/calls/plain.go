package calls

import (
	"cmp"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
	"holdpoint/translate/yesno"
)

// Plain is the Table of backends that ask by an ordinary call and read a yes or a no as its answer.
// The stream does not show that the call asks: the operator names the tools, and configures the yes
// and the no by two templates (package yesno). A resume sends the history with the answers as its
// last messages, as a client does whose user has answered. The dialect defines how such a run ends.
type Plain struct {
	Table
	Tools kit.Names // the tools whose calls ask, except those that the request declares
	Words yesno.Words
	// RemovesCalls reports that a call of these tools without a result is removed from a run without
	// answers, even if it is not on record that it asked. Models refuse such a call, and the record
	// may have forgotten it.
	RemovesCalls bool
	// MadePause reports whether a pause was asked in this way.
	MadePause func(agui.Pause) bool
}

// NewPlain returns a Plain with its Table. message returns the text of a question. said is the text
// in the call's arguments, or "".
func NewPlain(p Plain, message func(tool, said string) string) *Plain {
	k := &Kind{Results: Late, Content: func(asked PrivateState, a agui.Answer) (string, bool, error) {
		content, err := p.Words.Content(a, asked.Args)
		return content, a.Status != agui.Resolved || !yesno.Approves(gjson.ParseBytes(a.Payload)), err
	}}
	p.Kinds, p.Resume, p.withoutOldCalls, p.history = []*Kind{k}, Last, p.WithoutOldCalls, p.messagesBefore
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
		m.verdict = p.decision(m.Object)
		return m.verdict != yesno.Nothing && (m.Last || m.verdict != yesno.No)
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

// Text returns the text of a payload: the payload itself, or a text member with a usual name.
func Text(payload gjson.Result) string {
	return cmp.Or(payload.Str, kit.FirstText(payload, "message", "prompt", "question", "title", "description"))
}

// judge judges a message. Backends look for answers at the end of the messages, because a history
// also has the answers to older questions and the results of approved calls. An earlier message
// with a yes is allowed only if the yes is on record. Backends read keys in any case, and use the
// last of two. A message that only the backend would read as a decision is not an answer.
func (p *Plain) judge(one *translate.Reply, m *ToolMessage) {
	one.Unclear, one.TooLate, one.Keep = m.verdict == yesno.Unclear || len(m.calls) == 0, !m.Last, !m.Last
	one.Calls = m.calls // all of them, because a backend may read the message as an answer to each
	if one.Unclear {
		one.CallID = ""
	}
	one.Decides = m.Owner == Asks || p.RemovesCalls && m.dialectKnown && m.NotOfClient
	one.DecidesUnlessLeft, one.DecidesIfKnown = false, m.Owner == Clients
}

// AnswerIn implements translate.HistoryReader.
func (p *Plain) AnswerIn(m agui.Message, reply translate.Reply, i agui.Interrupt) (agui.Answer, bool) {
	object := gjson.ParseBytes(m.JSON)
	if says := p.decision(object); reply.TooLate || says != yesno.Yes && says != yesno.No {
		return agui.Answer{}, false
	}
	payload, ok := p.Words.Payload(object.Get("content"), argumentsOf(i))
	return agui.Answer{Status: agui.Resolved, Payload: payload}, ok
}

// ReadsDecisions implements translate.DecisionReader.
func (p *Plain) ReadsDecisions(spoken string) bool {
	return len(p.Tools) > 0 && (spoken == "" || spoken == p.Dialect)
}

// Decides implements translate.DecisionReader. Backends look for answers at the end. A backend that
// stores its threads may look at earlier messages too, but there only a yes lets something run.
func (p *Plain) Decides(m agui.Message, last bool, _ string) bool {
	if len(p.Tools) == 0 || !last && !p.RemovesCalls {
		return false
	}
	says := p.decision(gjson.ParseBytes(m.JSON))
	return last && says != yesno.Nothing || says == yesno.Yes || says == yesno.Unclear
}

// Harmless implements translate.DecisionReader.
func (p *Plain) Harmless(m agui.Message) agui.Message {
	listed := kit.AsList(m)
	if p.decision(gjson.ParseBytes(listed.JSON)) != yesno.Nothing {
		return kit.WithoutContent(m)
	}
	return listed
}

// decision returns the meaning of a tool message, read in any spelling. A message that can be read
// in another way is unclear.
func (p *Plain) decision(m gjson.Result) yesno.Verdict {
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

package calls

import (
	"cmp"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
	"holdpoint/translate/yesno"
)

// Plain is the Table of backends that ask by an ordinary tool call, and read a yes or a no as its
// answer. The stream does not show that the call asks. So the operator names the tools, and
// configures the yes and the no by two templates (package yesno). A resume sends the history, with
// the answers as its last messages, as a client does after its user has answered. The dialect
// itself decides how the end of such a run is read.
type Plain struct {
	Table
	Tools kit.Names // the tools whose calls ask, unless the request declares them
	Words yesno.Words
	// RemovesCalls says that a run without answers loses all calls of these tools that have no
	// result, even if no question about the call is on record. Models refuse such a call, and the
	// record may have been deleted.
	RemovesCalls bool
	// MadePause reports whether the backend asked the question of the pause by a call.
	MadePause func(agui.Pause) bool
}

// NewPlain returns the Plain p with its Table filled in. The function message returns the text of a
// question about a call of tool. said is the text in the call's arguments, or "".
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

// Text returns the text that a payload has for a person: the payload itself if it is a string, or
// the text of a member such as "message". It returns "" if there is neither.
func Text(payload gjson.Result) string {
	return cmp.Or(payload.Str, kit.FirstText(payload, "message", "prompt", "question", "title", "description"))
}

// judge completes one, which describes what the backend does with the tool message m. Backends read
// answers only at the end of the messages, because a history also has the answers to older
// questions and the results of approved calls. A yes in an earlier message is allowed only if it is
// on record. Backends read keys in upper or lower case, and use the last of two equal keys. If only
// the backend would read the message as a decision, it is not an answer.
func (p *Plain) judge(one *translate.Reply, m *ToolMessage) {
	one.Unclear, one.TooLate, one.Keep = m.verdict == yesno.Unclear || m.calls[0] == "", !m.Last, !m.Last
	one.Calls = m.calls // a backend may read the message as an answer to each of them
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
func (p *Plain) ReadsDecisions(detectedDialect string) bool {
	return len(p.Tools) > 0 && (detectedDialect == "" || detectedDialect == p.Dialect)
}

// Decides implements translate.DecisionReader. Backends read answers at the end of the messages. A
// backend that stores its threads may also read earlier messages, but of these only a yes lets a
// call run.
func (p *Plain) Decides(m agui.Message, isLast bool, _ string) bool {
	if len(p.Tools) == 0 || !isLast && !p.RemovesCalls {
		return false
	}
	says := p.decision(gjson.ParseBytes(m.JSON))
	return isLast && says != yesno.Nothing || says == yesno.Yes || says == yesno.Unclear
}

// Harmless implements translate.DecisionReader.
func (p *Plain) Harmless(m agui.Message) agui.Message {
	listed := kit.AsList(m)
	if p.decision(gjson.ParseBytes(listed.JSON)) != yesno.Nothing {
		return kit.WithoutContent(m)
	}
	return listed
}

// decision returns the meaning of a tool message, for a backend that reads keys in any spelling. If
// the message has a decision, but could be read in two ways, the meaning is Unclear.
func (p *Plain) decision(m gjson.Result) yesno.Verdict {
	contents, is := kit.Members(m, "content"), yesno.Nothing
	for _, v := range contents {
		if is = p.Words.Read(v); is != yesno.Nothing {
			break
		}
	}
	plain := len(contents) == 1 && m.Get("content").Exists() && m.Get("role").Str == "tool" &&
		len(kit.Members(m, "role")) == 1 && namesOneCall(m)
	if is != yesno.Nothing && !plain {
		return yesno.Unclear
	}
	return is
}

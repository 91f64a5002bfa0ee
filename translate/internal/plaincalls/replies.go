package plaincalls

import (
	"iter"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/microsoft"
	"holdpoint/translate/kit"
	"holdpoint/translate/yesno"
)

// Replies are the tool messages that decide a call that asks. They answer only at the end of the
// messages, where the backend looks for them, because a history also keeps the answers to older
// questions and the results of approved calls. Further up, a yes on a call of these tools is named
// too, because it may stand there only if the record knows that it was given.
//
// Backends read keys in any case, and take the last of two. A message that only the backend would
// take for a decision answers nothing here.
func (p *Protocol) Replies(in agui.RunInput, spoken string) iter.Seq[translate.Reply] {
	return func(yield func(translate.Reply) bool) {
		for one := range microsoft.Strays(in, spoken == p.Dialect) {
			if !yield(one) {
				return
			}
		}
		last := lastTools(in.Messages)
		var calls historyCalls // nil until it is needed
		for at, m := range in.Messages {
			past := at < last
			if m.Plain && !strings.EqualFold(m.Role, "tool") || !kit.IsTool(agui.View(m.JSON)) {
				continue
			}
			object := gjson.ParseBytes(m.JSON)
			says := p.decision(object)
			if says == yesno.Nothing || past && says == yesno.No {
				continue
			}
			if calls == nil {
				calls = p.calls(in)
			}
			one := translate.Reply{Dialect: p.Dialect, At: at, Key: m.ToolCallID, Unclear: says == yesno.Unclear, Past: past, Kept: past}
			ids := kit.Members(object, "toolCallId")
			if len(ids) == 0 { // a backend may take it for whatever waits
				one.Unclear, one.Asked = true, p.Forgets && spoken == p.Dialect
				if !yield(one) {
					return
				}
				continue
			}
			for _, id := range ids {
				how, shown := calls[id.String()]
				one.Asked = one.Asked || how == asksBackend || p.Forgets && !shown && spoken == p.Dialect && len(in.Tools) == 0
				one.AskedIfKnown = one.AskedIfKnown || how == isClients || how == asksClient
				one.Calls = append(one.Calls, id.String())
			}
			if says != yesno.Unclear {
				ids, one.Names = ids[:1], m.ToolCallID
			}
			for _, id := range ids {
				if one.Key = id.String(); !yield(one) {
					return
				}
			}
		}
	}
}

// lastTools is where the tool messages begin that stand at the end.
func lastTools(list []agui.Message) int {
	last := len(list)
	for last > 0 && kit.IsTool(agui.View(list[last-1].JSON)) {
		last--
	}
	return last
}

// AnswerIn is what a reply says to a question.
func (p *Protocol) AnswerIn(m agui.Message, reply translate.Reply, i agui.Interrupt) (agui.Answer, bool) {
	object := gjson.ParseBytes(m.JSON)
	if says := p.decision(object); reply.Past || says != yesno.Yes && says != yesno.No {
		return agui.Answer{}, false
	}
	payload, ok := p.Words.Payload(object.Get("content"), argumentsOf(i))
	return agui.Answer{Status: agui.Resolved, Payload: payload}, ok
}

// ReadsDecisions implements translate.DecisionReader.
func (p *Protocol) ReadsDecisions(spoken string) bool {
	return len(p.Ask) > 0 && (spoken == "" || spoken == p.Dialect)
}

// Decides implements translate.DecisionReader. Backends look for answers at the end. One that keeps
// its threads may look further up, and only a yes lets something run there.
func (p *Protocol) Decides(m agui.Message, last bool, _ string) bool {
	if len(p.Ask) == 0 || !last && !p.Forgets {
		return false
	}
	says := p.decision(gjson.ParseBytes(m.JSON))
	return last && says != yesno.Nothing || says == yesno.Yes || says == yesno.Unclear
}

// Harmless implements translate.DecisionReader.
func (p *Protocol) Harmless(m agui.Message) agui.Message {
	listed := kit.Listed(m)
	if p.decision(gjson.ParseBytes(listed.JSON)) != yesno.Nothing {
		return kit.Silenced(m)
	}
	return listed
}

// argumentsOf are those of the call that a question is about.
func argumentsOf(i agui.Interrupt) string {
	for _, c := range i.Calls {
		if c.ID == i.ToolCallID() {
			return c.Args
		}
	}
	return ""
}

// decision is what a tool message says, in whatever spelling. What can be read in another way is
// unclear.
func (p *Protocol) decision(m gjson.Result) yesno.Said {
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

// historyCalls are the ids of the history's calls, and how each asks.
type historyCalls map[string]asksBy

// asksBy is whose question a call is: nobody's; nobody's, because it is of a tool that the request
// declares; the client's, because it declares a tool that would ask otherwise; or the backend's.
type asksBy int

const (
	asksNobody asksBy = iota
	isClients
	asksClient
	asksBackend
)

func (p *Protocol) calls(in agui.RunInput) historyCalls {
	list := historyCalls{}
	for _, m := range in.Messages {
		if m.Plain {
			continue
		}
		for _, c := range kit.Calls(gjson.ParseBytes(m.JSON)) {
			by := asksNobody
			for _, name := range kit.Every(c, "function", "name") {
				switch {
				case p.Asks(name.Str, in):
					by = asksBackend
				case p.Ask.Match(name.Str):
					by = max(by, asksClient)
				case in.Declares(name.Str):
					by = max(by, isClients)
				}
			}
			for _, id := range kit.Members(c, "id") {
				list[id.String()] = max(list[id.String()], by)
			}
		}
	}
	return list
}

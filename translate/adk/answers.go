package adk

import (
	"iter"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/microsoft"
	"holdpoint/translate/kit"
)

// Answers implements translate.Dialect. It reads the entries of resume and command.resume. Tool
// messages answer too; see Replies.
func (*Dialect) Answers(in agui.RunInput, p agui.Pause) ([]agui.Answer, error) {
	list, err := kit.Answers(in, p)
	for n := range list {
		if i := p.Interrupt(list[n].ID); i != nil {
			if k, ok := keptOf(*i); ok {
				list[n] = heard(k.Kind, list[n])
			}
		}
	}
	return list, err
}

// Replies implements translate.HistoryReader. ADK takes any tool message on a call that asks for
// its answer, whatever it says, and whether the history has the call or not. So where the backend
// is known to be ADK every tool message is named. One is a decision for sure if the history shows
// the call that asks, or if it can be no result of the client's own tools. It is one too if it says
// {"confirmed":..} on a call that is not the client's. Elsewhere those are named whose call the
// history shows.
func (d *Dialect) Replies(in agui.RunInput, spoken string) iter.Seq[translate.Reply] {
	return func(yield func(translate.Reply) bool) {
		for one := range microsoft.Strays(in, spoken == Name) {
			if !yield(one) {
				return
			}
		}
		if spoken != "" && spoken != Name {
			return
		}
		var calls historyCalls
		for at, m := range in.Messages {
			object := agui.View(m.JSON)
			if m.ToolCallID == "" && m.Plain || !kit.IsTool(object) {
				continue
			}
			if calls == nil {
				if calls = d.calls(in, spoken == Name); spoken == "" && len(calls) == 0 {
					return
				}
			}
			object = gjson.ParseBytes(m.JSON)
			ids, contents := kit.Members(object, "toolCallId"), kit.Members(object, "content")
			plain := m.Role == "tool" && len(ids) == 1 && len(contents) == 1 && len(kit.Members(object, "role")) == 1 &&
				object.Get("toolCallId").Exists() && contents[0].Type == gjson.String && object.Get("content").Exists()
			_, decides := read(confirm, object.Get("content").Str)
			for _, id := range ids {
				by, shown := calls[id.String()]
				asks := by > nothing
				if spoken == "" && !asks {
					continue
				}
				one := translate.Reply{Dialect: Name, At: at, Key: id.String(), Unclear: !plain, Names: id.String(), Calls: []string{id.String()}}
				one.Kept = by == openly // as the client was told it, and ADK knows it by its id
				nobodys := !shown && len(in.Tools) == 0
				unsaid := !shown && plain && len(in.Tools) > 0
				one.Asked = asks || decides && by != clients && !unsaid || nobodys && !plain
				one.AskedUnlessLeft = decides && unsaid
				one.AskedUnlessResult = nobodys && !one.Asked
				one.AskedIfKnown = by == clients
				if !yield(one) {
					return
				}
			}
		}
	}
}

// ReadsDecisions implements translate.DecisionReader.
func (*Dialect) ReadsDecisions(spoken string) bool { return spoken == "" || spoken == Name }

// Decides implements translate.DecisionReader. ADK also looks at messages that words follow, if it
// has not seen them yet (RAN 0.11.0).
func (*Dialect) Decides(m agui.Message, _ bool, _ string) bool {
	if !kit.MaySay(m.JSON, "confirmed", 'f') {
		return false
	}
	return slices.ContainsFunc(kit.Members(gjson.ParseBytes(m.JSON), "content"), mayConfirm)
}

// mayConfirm reports whether a content is an object with a member confirmed to Python, or one with
// the text of such an object in a member response. The package joins a content's parts.
func mayConfirm(content gjson.Result) bool {
	text := content.Str
	for _, part := range content.Array() {
		text += part.Get("text").Str
	}
	text = strings.TrimLeft(text, " \t\r\n")
	switch {
	case !strings.HasPrefix(text, "{"):
		return false
	case !agui.ValidJSON([]byte(text)): // Python takes NaN, and greater depths
		return kit.MaySay([]byte(text), "confirmed", 'f')
	}
	object := gjson.Parse(text)
	return len(kit.Members(object, "confirmed")) > 0 || slices.ContainsFunc(kit.Members(object, "response"), func(v gjson.Result) bool {
		return kit.MaySay([]byte(v.Raw), "confirmed", 'f')
	})
}

// Harmless implements translate.DecisionReader.
func (*Dialect) Harmless(m agui.Message) agui.Message { return kit.Listed(m) }

// AnswerIn implements translate.HistoryReader. ADK takes every message on the call for an answer.
// So one that is no decision is one too, and no schema fits it.
func (*Dialect) AnswerIn(m agui.Message, _ translate.Reply, i agui.Interrupt) (agui.Answer, bool) {
	k, ok := keptOf(i)
	if !ok {
		return agui.Answer{}, false
	}
	content := gjson.GetBytes(m.JSON, "content").Str
	a, ok := read(k.Kind, content)
	if !ok {
		a = agui.Answer{Status: agui.Resolved, Payload: agui.MustMarshal(content)}
	}
	return a, true
}

// historyCalls are the ids of the history's calls, and how each asks.
type historyCalls map[string]asksBy

// asksBy is how a call asks. The greatest counts of several calls of one id, and of several names.
// A client is shown the calls that ask openly, and told what was answered. It has a call of ADK's
// own protocol only if it is shown ADK's own form.
type asksBy int

const (
	clients asksBy = iota - 1 // the client's own call
	nothing
	openly
	unseen
)

// calls are the calls of the history. If the backend is not known to be ADK, they are those of
// ADK's own protocol only: confirm_changes and a configured tool may be another backend's.
// Calls of the client's own tools do not ask.
func (d *Dialect) calls(in agui.RunInput, known bool) historyCalls {
	list := historyCalls{}
	how := func(name string) asksBy {
		switch {
		case in.Declares(name):
			return clients
		case isProtocolCall(name):
			return unseen
		case known && (name == confirmChanges || d.ask.Match(name)):
			return openly
		}
		return nothing
	}
	for _, m := range in.Messages {
		if m.Plain || !known && !kit.MaySay(m.JSON, protocolPrefix, 'k') {
			continue
		}
		for _, c := range kit.Calls(gjson.ParseBytes(m.JSON)) {
			names := kit.Texts(c, "function", "name")
			if len(names) == 0 {
				names = []string{""}
			}
			for _, id := range kit.Members(c, "id") {
				for _, name := range names {
					is := how(name)
					if before, has := list[id.String()]; !has && known || is > before {
						list[id.String()] = is
					}
				}
			}
		}
	}
	return list
}

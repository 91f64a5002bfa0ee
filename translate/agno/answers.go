package agno

import (
	"bytes"
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
		a := &list[n]
		i := p.Interrupt(a.ID)
		if i == nil || a.Status != agui.Resolved {
			continue
		}
		if k, ok := keptOf(*i); ok && k.Kind != external {
			if payload, ok := clear(k.Kind, a.Payload); ok {
				a.Payload = payload
			}
		}
	}
	return list, err
}

// Replies implements translate.HistoryReader. agno takes a tool message on a paused call for its
// answer, if nothing stands behind it. So where the backend is known to be agno, every tool message
// is named. It is a decision for sure if agno could read one in it, and the call is not the
// client's own; or if it can be no result of the client's tools.
func (d *Dialect) Replies(in agui.RunInput, spoken string) iter.Seq[translate.Reply] {
	return func(yield func(translate.Reply) bool) {
		for one := range microsoft.Strays(in, spoken == Name) {
			if !yield(one) {
				return
			}
		}
		if spoken != Name {
			return
		}
		last := len(in.Messages)
		for last > 0 && kit.IsTool(agui.View(in.Messages[last-1].JSON)) {
			last--
		}
		var claims *kit.Claims // nil until it is needed
		for at, m := range in.Messages {
			if m.ToolCallID == "" && m.Plain || !kit.IsTool(agui.View(m.JSON)) {
				continue
			}
			if claims == nil {
				claims = kit.ClaimsOf(in)
			}
			object := gjson.ParseBytes(m.JSON)
			ids, contents := kit.Members(object, "toolCallId"), kit.Members(object, "content")
			plain := m.Role == "tool" && len(ids) == 1 && len(contents) == 1 && len(kit.Members(object, "role")) == 1 &&
				object.Get("toolCallId").Exists() && object.Get("content").Type == gjson.String && len(kit.Members(object, "error")) == 0
			for _, id := range ids {
				call := id.String()
				one := translate.Reply{Dialect: Name, At: at, Key: call, Unclear: !plain, Names: call, Calls: []string{call}, Past: at < last, Kept: at < last}
				clients, shown := claims.Own(call)
				decides := at < last && decides(object.Get("content").Str) || at >= last && mayDecide(contents)
				unsaid := !shown && plain && len(in.Tools) > 0
				one.Asked = !clients && decides && !unsaid || !shown && len(in.Tools) == 0
				one.AskedUnlessLeft = decides && unsaid
				one.AskedIfKnown = at >= last && decides
				if !yield(one) {
					return
				}
			}
		}
	}
}

// decides says whether a content has the form of an answer.
func decides(content string) bool {
	for _, k := range []kind{confirm, input, feedback} {
		if _, ok := read(k, content); ok {
			return true
		}
	}
	return false
}

// mayDecide says whether agno could read a decision in one of some contents. It looks for objects
// in prose, in fences of code and behind thoughts, and takes signs out before (utils/string.py,
// parse_response_dict_str). It takes a list of parts, too. Where the whole is JSON it reads that.
func mayDecide(contents []gjson.Result) bool {
	return slices.ContainsFunc(contents, func(content gjson.Result) bool {
		if content.Type == gjson.String && agui.ValidJSON([]byte(content.Str)) && !strings.Contains(content.Str, "</think>") {
			object := gjson.Parse(content.Str)
			return len(kit.Members(object, "accepted"))+len(kit.Members(object, "values"))+len(kit.Members(object, "selections")) > 0
		}
		text := []byte(content.Raw)
		if content.Type == gjson.String {
			text = []byte(content.Str)
		}
		for _, part := range content.Array() {
			text = append(text, part.Get("text").Str...)
		}
		text = slices.DeleteFunc(text, func(c byte) bool { return c < ' ' || c == 0x7f })
		if !bytes.ContainsAny(text, "{[") {
			return false
		}
		return kit.MaySay(text, "accepted", 'p') || kit.MaySay(text, "values", 'v') || kit.MaySay(text, "selections", 'l')
	})
}

// ReadsDecisions implements translate.DecisionReader.
func (*Dialect) ReadsDecisions(spoken string) bool { return spoken == "" || spoken == Name }

// Decides implements translate.DecisionReader. agno looks at the last messages only.
func (*Dialect) Decides(m agui.Message, last bool, _ string) bool {
	return last && mayDecide(kit.Members(gjson.ParseBytes(m.JSON), "content"))
}

// Harmless implements translate.DecisionReader. A message that is not the last is harmless.
func (*Dialect) Harmless(m agui.Message) agui.Message { return m }

// AnswerIn implements translate.HistoryReader.
func (*Dialect) AnswerIn(m agui.Message, reply translate.Reply, i agui.Interrupt) (agui.Answer, bool) {
	k, ok := keptOf(i)
	if !ok {
		return agui.Answer{}, false
	}
	answer, ok := read(k.Kind, gjson.GetBytes(m.JSON, "content").Str)
	return answer, ok && !reply.Past
}

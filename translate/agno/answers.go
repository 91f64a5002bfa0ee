package agno

import (
	"bytes"
	"iter"
	"slices"

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
		var shown map[string]isOf
		for at, m := range in.Messages {
			if m.ToolCallID == "" && m.Plain || !kit.IsTool(agui.View(m.JSON)) {
				continue
			}
			if shown == nil {
				shown = callsOf(in)
			}
			object := gjson.ParseBytes(m.JSON)
			ids, contents := kit.Members(object, "toolCallId"), kit.Members(object, "content")
			plain := m.Role == "tool" && len(ids) == 1 && len(contents) == 1 && len(kit.Members(object, "role")) == 1 &&
				object.Get("toolCallId").Exists() && object.Get("content").Type == gjson.String && len(kit.Members(object, "error")) == 0
			for _, id := range ids {
				call := id.String()
				one := translate.Reply{Dialect: Name, At: at, Key: call, Unclear: !plain, Names: call, Calls: []string{call}, Past: at < last, Kept: at < last}
				of := shown[call]
				one.Asked = of != clients && (at < last && decides(object.Get("content").Str) || at >= last && mayDecide(contents)) || of == unknown && len(in.Tools) == 0
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
// parse_response_dict_str). It takes a list of parts, too.
func mayDecide(contents []gjson.Result) bool {
	return slices.ContainsFunc(contents, func(content gjson.Result) bool {
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

// isOf is whose call it is.
type isOf int

const (
	unknown  isOf = iota // the history does not have it
	clients              // the client's: the request declares its tool
	backends             // the backend's; also one of two names, or of two calls of one id
)

func callsOf(in agui.RunInput) map[string]isOf {
	ids := map[string]isOf{}
	for _, m := range in.Messages {
		if m.Plain {
			continue
		}
		for _, c := range kit.Calls(gjson.ParseBytes(m.JSON)) {
			of, names := clients, kit.Texts(c, "function", "name")
			if len(names) == 0 || slices.ContainsFunc(names, func(name string) bool { return !in.Declares(name) }) {
				of = backends
			}
			for _, id := range kit.Members(c, "id") {
				ids[id.String()] = max(ids[id.String()], of)
			}
		}
	}
	return ids
}

// AnswerIn implements translate.HistoryReader.
func (*Dialect) AnswerIn(m agui.Message, reply translate.Reply, i agui.Interrupt) (agui.Answer, bool) {
	k, ok := keptOf(i)
	if !ok {
		return agui.Answer{}, false
	}
	answer, ok := read(k.Kind, gjson.GetBytes(m.JSON, "content").Str)
	return answer, ok && !reply.Past
}

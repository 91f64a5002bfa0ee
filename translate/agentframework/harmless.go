package agentframework

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/microsoft"
	"holdpoint/translate/kit"
)

// The adapter takes every tool message in the history whose text is a JSON object with a key
// "accepted" for a yes or a no, wherever it stands, whatever else is in it and whatever the value
// is ("no" is a yes), and up to 1.0.0b260311 runs the call that it names, asked or not (RAN
// 1.0.0b260116). A client may have made that message up, or a tool may have such a result. So
// nothing but the messages that answer for Holdpoint go out in that form.

// harmless returns the input of a run that answers nothing, without what the adapter would take for
// an answer.
func harmless(in agui.RunInput) agui.RunInput {
	if _, sent := in.CommandResume(); sent {
		in = in.WithoutCommand()
	}
	in.Raw = withoutProps(in, in.Raw)
	if messages := messagesAsResults(in.Messages, in); messages != nil {
		in = in.WithMessages(messages)
	}
	return in
}

// newMessages returns the run that brings the messages beside the answers.
func newMessages(r *translate.Request) translate.Out {
	asked := map[string]bool{}
	for _, i := range r.Pause.Interrupts {
		if a, _ := askOf(i); a.Call != "" {
			asked[a.Call] = true
		}
	}
	in := r.Input
	in.Messages = kit.After(r, asked).Behind(nil)
	in.Raw = kit.Unanswered(in, in.Messages)
	return translate.Out{Body: harmless(in).Raw, TakesNew: true}
}

// withoutProps returns the body without an answer in forwardedProps.resume, where the adapter looks
// too.
func withoutProps(in agui.RunInput, body []byte) []byte {
	if len(propsItems(in)) == 0 {
		return body
	}
	return agui.DeleteKey(body, "forwardedProps.resume")
}

// messagesAsResults returns a list of a request's messages with each of those tool messages as what
// it says it is, the result of a tool: its text is a list with the object in it. nil if there is
// none.
func messagesAsResults(list []agui.Message, in agui.RunInput) []agui.Message {
	var out []agui.Message
	var own map[string]bool
	for n, m := range list {
		if !decides(m) {
			continue
		}
		if own == nil {
			own = ownConfirms(list, in)
		}
		if own[confirmedBy(m)] {
			continue
		}
		if out == nil {
			out = slices.Clone(list)
		}
		out[n] = messageAsResult(m)
	}
	return out
}

func messageAsResult(m agui.Message) agui.Message {
	object := []byte{'{'}
	gjson.ParseBytes(m.JSON).ForEach(func(k, v gjson.Result) bool {
		value := v.Raw
		if isText(k) && mayAccept(v) {
			text := v.Raw
			if v.Type == gjson.String {
				text = v.Str
			}
			value = string(agui.MustMarshal("[" + text + "]"))
		}
		object = kit.AppendMember(object, k.Raw, value)
		return true
	})
	return agui.ParseMessage(append(object, '}'))
}

// ownConfirms returns the calls of a confirm_changes that the request declares itself: the person's
// answer to it is the client's own. It names no other call that could run, by its arguments or by
// its id.
func ownConfirms(list []agui.Message, in agui.RunInput) map[string]bool {
	own := map[string]bool{}
	if !in.Declares(microsoft.ConfirmChanges) {
		return own
	}
	all := map[string]int{}
	for _, m := range list {
		for _, c := range kit.Calls(gjson.ParseBytes(m.JSON)) {
			ids, names, args := kit.Texts(c, "id"), kit.Texts(c, "function", "name"), kit.Texts(c, "function", "arguments")
			for _, id := range ids {
				all[id]++
			}
			if len(ids) == 1 && len(names) == 1 && len(args) == 1 && names[0] == microsoft.ConfirmChanges && saysNothing(args[0]) {
				own[ids[0]] = true
			}
		}
	}
	for id, n := range all {
		if n > 1 {
			delete(own, id)
		}
	}
	return own
}

// saysNothing reports whether the arguments of a call are empty.
func saysNothing(args string) bool {
	v := parsed(args)
	return args == "" || v.IsObject() && len(v.Map()) == 0
}

// confirmedBy returns the call that a message answers with a yes or a no and nothing else, "" if it
// says more, or says it in another spelling.
func confirmedBy(m agui.Message) string {
	call, content := "", ""
	plain := true
	gjson.ParseBytes(m.JSON).ForEach(func(k, v gjson.Result) bool {
		switch {
		case k.Raw == `"id"` || k.Raw == `"role"`:
		case k.Raw == `"toolCallId"` && call == "":
			call = v.Str
		case k.Raw == `"content"` && content == "":
			content = v.Str
		default:
			plain = false
		}
		return plain
	})
	if !plain || !yesOrNo.MatchString(content) {
		return ""
	}
	return call
}

var yesOrNo = regexp.MustCompile(`^\s*\{\s*"accepted"\s*:\s*(true|false)\s*\}\s*$`)

// decides reports whether the adapter would take the message for a decision. Its keys may stand
// twice: Python takes the last.
func decides(m agui.Message) bool {
	if !bytes.Contains(m.JSON, []byte("accepted")) && !bytes.Contains(m.JSON, []byte(`\u`)) {
		return false
	}
	tool, accepts := false, false
	gjson.ParseBytes(m.JSON).ForEach(func(k, v gjson.Result) bool {
		tool = tool || k.Str == "role" && strings.EqualFold(v.Str, "tool")
		accepts = accepts || isText(k) && mayAccept(v)
		return true
	})
	return tool && accepts
}

// isText reports whether the adapter reads a message's text under that key.
func isText(key gjson.Result) bool { return key.Str == "content" || key.Str == "result" }

// mayAccept reports whether a text is an object with the key "accepted" to Python, which takes NaN
// and depths that are not JSON here.
func mayAccept(v gjson.Result) bool {
	if v.Type == gjson.String {
		text := strings.TrimLeft(v.Str, " \t\r\n")
		switch {
		case !strings.HasPrefix(text, "{"), !strings.Contains(text, "accepted") && !strings.Contains(text, `\u`):
			return false
		case !agui.ValidJSON([]byte(text)):
			return true
		}
		v = gjson.Parse(text)
	}
	found := false
	if v.IsObject() {
		v.ForEach(func(k, _ gjson.Result) bool {
			found = found || k.Str == "accepted"
			return !found
		})
	}
	return found
}

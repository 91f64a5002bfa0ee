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

// The adapter reads a tool message as a decision if its text is a JSON object with a key
// "accepted". The position of the message, the other keys and the value do not matter: even the
// value "no" is a yes. Up to 1.0.0b260311 the adapter then runs the call that the message names,
// even if it did not ask a question about it (RAN 1.0.0b260116). A client may have forged such a
// message, or a tool may return such a result. So Holdpoint sends messages of this form only for
// answers that it has validated, and changes all others.

// harmless returns the input of a run without answers. It changes or removes everything that the
// adapter would read as an answer.
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

// newMessages returns the request that sends the new messages, which came with the answers.
func newMessages(r *translate.Request) translate.Out {
	asked := map[string]bool{}
	for _, i := range r.Pause.Interrupts {
		if a, _ := askOf(i); a.Call != "" {
			asked[a.Call] = true
		}
	}
	in := r.Input
	in.Messages = kit.HistoryAfter(r, asked).AfterCalls(nil)
	in.Raw = kit.WithoutAnswers(in, in.Messages)
	return translate.Out{Body: harmless(in).Raw, TakesNew: true}
}

// withoutProps returns the body without forwardedProps.resume if that has an answer, because the
// adapter reads answers there too.
func withoutProps(in agui.RunInput, body []byte) []byte {
	if len(propsItems(in)) == 0 {
		return body
	}
	return agui.DeleteKey(body, "forwardedProps.resume")
}

// messagesAsResults returns the list with each decision changed into the result of a tool: its text
// becomes a list that contains the object. It returns nil if no message is a decision.
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
	return agui.ParseMessage(kit.MapMembers(gjson.ParseBytes(m.JSON), func(k, v gjson.Result) string {
		if isText(k) && mayAccept(v) {
			return string(agui.MustMarshal("[" + kit.PlainText(v) + "]"))
		}
		return v.Raw
	}))
}

// ownConfirms returns the ids of the confirm_changes calls that belong to the client, because the
// request declares a tool of that name. The client itself answers these calls, so their results may
// stay. A call belongs to the client only if its arguments are empty and its id is unique.
// Otherwise its result could name another call, and the backend could run that call.
func ownConfirms(list []agui.Message, in agui.RunInput) map[string]bool {
	own := map[string]bool{}
	if !in.Declares(microsoft.ConfirmChanges) {
		return own
	}
	all := map[string]int{}
	for _, m := range list {
		for _, c := range kit.Calls(gjson.ParseBytes(m.JSON)) {
			ids, names, args := kit.IDs(c, "id"), kit.Texts(c, "function", "name"), kit.Texts(c, "function", "arguments")
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

// saysNothing reports whether the arguments of a call are empty: "" or an object without members.
func saysNothing(args string) bool {
	v := parsed(args)
	return args == "" || v.IsObject() && len(v.Map()) == 0
}

// confirmedBy returns the id of the call that the message answers with only {"accepted":true} or
// {"accepted":false}. It returns "" if the message has any other key, or a key in another spelling.
func confirmedBy(m agui.Message) string {
	call, content := "", ""
	plain := true
	gjson.ParseBytes(m.JSON).ForEach(func(k, v gjson.Result) bool {
		switch {
		case k.Raw == `"id"` || k.Raw == `"role"`:
		case k.Raw == `"toolCallId"` && call == "":
			call = agui.IDText(v)
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

// decides reports whether the adapter would read the message as a decision. A key can occur twice
// in a message. Python uses the last of the two, so decides examines both.
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

// isText reports whether the adapter reads the text of a message under this key.
func isText(key gjson.Result) bool { return key.Str == "content" || key.Str == "result" }

// mayAccept reports whether Python may read the text v as an object with the key "accepted". Python
// also reads texts that are invalid JSON here: those with NaN, and those that are nested deeply.
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

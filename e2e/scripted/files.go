package scripted

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// Scenes of the recordings. The first word of the person's last message selects the scene. The
// hosts of Agent Framework were recorded with one model, and those of the AG-UI SDK for .NET with
// another.
//
// 	plain ...     repeats the message
// 	delete P      a call that needs an approval
// 	both P Q      two such calls in one turn; two P Q with the SDK's model
// 	again P Q     two such calls, one after the other
// 	text P        a sentence, and then such a call; saydelete P with the SDK's model
// 	fail P        a call of a tool that throws
// 	noargs        a call of a tool without arguments
// 	free          a call that needs no approval; echo with the SDK's model
// 	client        a call of the client's tool; front with the SDK's model
// 	mixed P       a call that needs no approval, and a call that needs one
// 	mix3 P        a call of the client's tool, and the two calls of mixed
// 	mixfree       a call of the client's tool, and a call that needs no approval
// 	frontgate P   a call of the client's tool, and a call that needs an approval
// 	frontthen P   the same two calls, one after the other
// 	beside P      the same as mixed P
// 	frontfree P   the same as mixfree, with another tool of the server
// 	throw         the provider fails after a word
// 	throwfirst    the provider fails before the first word
// 	delthrow P    a call that needs an approval; after its result the provider fails
// 	input         asks for a name
// 	usage         reports its usage
// 	empty         sends no text
// 	approve E     a call of the SDK's sample, for each E
//
// After the results of calls, the models repeat the results, whatever the last message was.

// fileTools returns the tools that were recorded.
func (l *Ledger) fileTools() map[string]tool {
	path := func(c *functionCall) string {
		var args struct{ Path, To string }
		_ = json.Unmarshal(c.args, &args) // the error does not matter: null has neither member
		return args.Path + args.To
	}
	run := func(said string) func(string, *functionCall) (any, error) {
		return func(thread string, c *functionCall) (any, error) {
			l.execute(thread, strings.TrimSpace(c.name+" "+path(c)))
			return json.RawMessage(text(said + path(c))), nil
		}
	}
	throws := func(thread string, c *functionCall) (any, error) {
		l.execute(thread, c.name+" "+path(c))
		return nil, errors.New("it cannot")
	}
	return map[string]tool{
		"delete_file": {true, run("deleted ")}, "send_mail": {true, run("sent to ")},
		"fail_file": {true, throws}, "explode": {true, throws}, "no_args": {true, run("done")},
		"list_files": {false, run("a.txt b.txt")}, "get_time": {false, run("12:00")}, "read_file": {false, run("contents of ")},
		gatedTool: {true, func(thread string, c *functionCall) (any, error) {
			var args struct{ ExpenseReportID string }
			_ = json.Unmarshal(c.args, &args) // the model always sends an object
			l.execute(thread, args.ExpenseReportID)
			return json.RawMessage(text("Expense report " + args.ExpenseReportID + " has been approved and processed.")), nil
		}},
	}
}

// filesReply returns the response that the recorded models give in a scene. turns is the number of
// batches of calls since the person's last message. In the scene called input, answer is the
// person's answer. In other scenes it is nil.
func (m *model) filesReply(words []string, turns int, results []string, answer json.RawMessage) ([]*update, error) {
	rest := append(words[1:], "", "")
	done := "Done: " + strings.Join(results, "; ")
	del := func(path string) *functionCall { return newCall("delete_file", text(obj("path", path))) }
	mail := func(to string) *functionCall { return newCall("send_mail", text(obj("to", to))) }
	clients := func(hint string) *functionCall {
		if m.sdk {
			return newCall("pick_color", text(obj("hint", hint)))
		}
		return newCall("get_location", json.RawMessage("{}"))
	}
	free, fails := newCall("list_files", json.RawMessage("{}")), "fail_file"
	if m.sdk {
		free, fails = newCall("get_time", json.RawMessage("{}")), "explode"
	}
	if turns == 1 {
		switch {
		case words[0] == "again" && m.sdk:
			return m.filesCall(mail(rest[1])), nil
		case words[0] == "again":
			return m.filesCall(del(rest[1])), nil
		case words[0] == "frontthen":
			return m.filesCall(del(rest[0])), nil
		}
	}
	broken := throw("HttpIOException", "The response ended prematurely. (ResponseEnded)")
	switch {
	case turns > 0 && words[0] == "delthrow":
		return m.filesSay("Well"), broken
	case turns > 0:
		return m.filesSay(done), nil
	case words[0] == "throwfirst":
		return nil, broken
	case words[0] == "empty":
		return nil, nil
	case words[0] == "usage":
		said := m.filesSay("hi")
		said[0].usage = obj("model", "scripted", "inputTokens", 5, "outputTokens", 7, "totalTokens", 12)
		return said, nil
	case words[0] == "input" && answer != nil:
		return m.filesSay("Hello " + string(answer)), nil
	case words[0] == "input":
		return []*update{m.filesUpdate("msg_"+guid()[:8], interruptRequest{"ask_" + guid()[:8], "input_required", "Which name?",
			json.RawMessage(`{"type":"object","properties":{"response":{"type":"string"}},"required":["response"]}`)})}, nil
	case words[0] == "throw":
		return m.filesSay("Thinking"), broken
	case slices.Contains(words, "approve"):
		var calls []*functionCall
		for _, word := range words {
			if strings.HasPrefix(word, "E") {
				calls = append(calls, newCall(gatedTool, text(obj("expenseReportId", word))))
			}
		}
		return m.filesCall(calls...), nil
	}
	switch words[0] {
	case "plain":
		return m.filesSay("echo: " + strings.Join(words, " ")), nil
	case "delete", "again", "delthrow":
		return m.filesCall(del(rest[0])), nil
	case "both":
		return m.filesCall(del(rest[0]), del(rest[1])), nil
	case "two":
		return m.filesCall(del(rest[0]), mail(rest[1])), nil
	case "text", "saydelete":
		said := m.filesSay("I will delete it.")
		if m.sdk {
			said = m.filesSay("I will ", "delete it.")
		}
		call := m.filesCall(del(rest[0]))
		call[0].message, call[0].responseID = said[0].message, said[0].responseID
		return append(said, call...), nil
	case "fail":
		return m.filesCall(newCall(fails, text(obj("path", rest[0])))), nil
	case "noargs":
		return m.filesCall(newCall("no_args", nil)), nil
	case "free", "echo":
		return m.filesCall(free), nil
	case "client", "front":
		return m.filesCall(clients(rest[0])), nil
	case "frontthen":
		return m.filesCall(clients("sky")), nil
	case "mixed", "beside":
		return m.filesCall(free, del(rest[0])), nil
	case "mix3":
		return m.filesCall(clients("sky"), free, del(rest[0])), nil
	case "mixfree":
		return m.filesCall(clients("sky"), free), nil
	case "frontfree":
		return m.filesCall(clients("sky"), newCall("read_file", text(obj("path", rest[0])))), nil
	case "frontgate":
		return m.filesCall(clients("sky"), del(rest[0])), nil
	}
	return m.filesSay("I do not know that scene."), nil
}

// filesSay returns a text as updates, one for each part. Agent Framework's models send the first
// part in two halves.
func (m *model) filesSay(parts ...string) []*update {
	if !m.sdk {
		half := len(parts[0]) / 2
		parts = []string{parts[0][:half], parts[0][half:]}
	}
	var list []*update
	id := "msg_" + guid()[:8]
	for _, part := range parts {
		list = append(list, m.filesUpdate(id, textContent{part}))
	}
	return list
}

func (m *model) filesCall(calls ...*functionCall) []*update {
	u := m.filesUpdate("msg_" + guid()[:8])
	if !m.sdk {
		u.finish = of("tool_calls")
	}
	for _, c := range calls {
		u.contents = append(u.contents, c)
	}
	return []*update{u}
}

func (m *model) filesUpdate(id string, contents ...content) *update {
	u := &update{role: "assistant", contents: contents, message: &id, responseID: of("resp_" + id)}
	if m.sample {
		u.responseID = &id
	}
	if m.sdk {
		u.modelID = of("scripted")
	}
	return u
}

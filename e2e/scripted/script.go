package scripted

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The scenes of the script. The first word of the person's last message selects the scene:
//
//	plain ...          repeats the message
//	approve A [B ...]  asks for an approval of each argument, in one turn
//	explain A          the same for one argument, after a sentence
//	chain N A          asks N times, one after the other, for A.1, A.2, ...
//	mixed A            a call that needs an approval and a call that needs none, in one turn
//	look A             a call that needs no approval
//	delete F           the same as approve, with another tool
//	reset              a call without arguments that needs an approval
//	locate [A]         a call of get_location, which the client must have declared; with A also a call that needs an approval
//	fail               the provider fails after a few words
//
// A tool whose argument begins with boom throws. After a tool whose argument begins with late, the
// provider fails.
const (
	gatedTool  = "ApproveExpenseReport"
	plainTool  = "GetExpenseReport"
	bareTool   = "ResetLedger"
	fileTool   = "delete_file"
	clientTool = "get_location"
)

// tools returns the tools that the model may call.
func (l *Ledger) tools() map[string]tool {
	argument := func(c *functionCall) string {
		var args struct{ ExpenseReportID, Filename string }
		_ = json.Unmarshal(c.args, &args) // if a required parameter is absent, the tool fails below
		return args.ExpenseReportID + args.Filename
	}
	run := func(said string) func(string, *functionCall) (any, error) {
		return func(thread string, c *functionCall) (any, error) {
			id := argument(c)
			if id == "" || strings.HasPrefix(id, "boom") {
				return nil, fmt.Errorf("no such report")
			}
			l.execute(thread, id)
			return json.RawMessage(text(fmt.Sprintf(said, id))), nil
		}
	}
	return map[string]tool{
		gatedTool: {true, run("Expense report %s has been approved and processed.")},
		fileTool:  {true, run("File '%s' deleted successfully.")},
		plainTool: {false, run("Expense report %s is of Tuesday.")},
		bareTool: {true, func(thread string, _ *functionCall) (any, error) {
			l.execute(thread, "reset")
			return json.RawMessage(`"The ledger is empty."`), nil
		}},
	}
}

// A provider is a kind of model provider. The kinds differ in the ids of the model's updates.
type provider int

const (
	// openAI: each update of a completion has the id of the completion.
	openAI provider = iota
	// azure: the update with the calls has the id "".
	azure
	// nameless: the update with the calls has no id.
	nameless
)

// A model responds as the script says. It returns an error if a provider would refuse the history.
type model struct {
	*Ledger
	provider provider
	files    bool // uses the script of the recordings (files.go)
	sdk      bool // with files: the model of the SDK's hosts
	sample   bool // the model of the SDK's sample
}

// respond returns the updates of one completion. If it returns an error too, the updates precede
// the error.
func (m *model) respond(thread string, history []*chatMessage, declared []string) ([]*update, error) {
	if err := providerTakes(history); err != nil {
		m.complain(thread, err.Error())
		return nil, throw("ClientResultException", "HTTP 400 (invalid_request_error): %s", err)
	}
	id := "chatcmpl-" + guid()[:24]
	say := func(parts ...string) []*update {
		var list []*update
		for _, part := range append([]string{""}, parts...) {
			list = append(list, &update{role: "assistant", contents: []content{textContent{part}}, responseID: &id, message: &id, modelID: of("")})
		}
		list[len(list)-1].usage = obj("inputTokens", 199, "outputTokens", 20, "totalTokens", 219, "reasoningTokens", 0, "cachedInputTokens", 0)
		return list
	}
	call := func(list ...*functionCall) *update {
		u := &update{role: "assistant", responseID: &id, message: &id, finish: of("tool_calls"), modelID: of(""),
			usage: obj("inputTokens", 146, "outputTokens", 97, "totalTokens", 243, "reasoningTokens", 64, "cachedInputTokens", 0)}
		switch m.provider {
		case azure:
			u.responseID, u.message = of(""), of("")
		case nameless:
			u.responseID, u.message = nil, nil
		}
		for _, c := range list {
			u.contents = append(u.contents, c)
		}
		return u
	}
	words, turns, results := scene(history, functionResult.plain)
	if m.files {
		words, turns, results = scene(history, functionResult.said)
		var input json.RawMessage
		if len(history) > 0 {
			for _, one := range *history[len(history)-1].contents {
				if a, ok := one.(interruptResponse); ok {
					input = a.payload
				}
			}
		}
		return m.filesReply(words, turns, results, input)
	}
	rest := words[min(1, len(words)):]
	done := func() ([]*update, error) {
		if slices.ContainsFunc(rest, func(w string) bool { return strings.HasPrefix(w, "late") }) {
			return say("Let me"), throw("HttpIOException", "The response ended prematurely. (ResponseEnded)")
		}
		return say("Done: ", strings.Join(results, " | ")), nil
	}
	report := func(name, id string) *functionCall { return newCall(name, text(obj("expenseReportId", id))) }
	switch words[0] {
	case "plain":
		return say("echo: ", strings.Join(words, " ")), nil
	case "fail":
		return say("Let me"), throw("HttpIOException", "The response ended prematurely. (ResponseEnded)")
	case "chain":
		if n, _ := strconv.Atoi(rest[0]); turns < n {
			return []*update{call(report(gatedTool, fmt.Sprintf("%s.%d", rest[1], turns+1)))}, nil
		}
		return done()
	}
	if turns > 0 {
		return done()
	}
	switch words[0] {
	case "approve":
		var list []*functionCall
		for _, id := range rest {
			list = append(list, report(gatedTool, id))
		}
		return []*update{call(list...)}, nil
	case "explain":
		return append(say("I need ", "your approval."), call(report(gatedTool, rest[0]))), nil
	case "mixed":
		return []*update{call(report(plainTool, rest[0]+".look"), report(gatedTool, rest[0]))}, nil
	case "look":
		return []*update{call(report(plainTool, rest[0]))}, nil
	case "delete":
		return []*update{call(newCall(fileTool, text(obj("filename", rest[0]))))}, nil
	case "reset":
		return []*update{call(newCall(bareTool, nil))}, nil
	case "locate":
		if !slices.Contains(declared, clientTool) {
			return say("I cannot know where you are."), nil
		}
		list := []*functionCall{newCall(clientTool, json.RawMessage("{}"))}
		if len(rest) > 0 {
			list = append(list, report(gatedTool, rest[0]))
		}
		return []*update{call(list...)}, nil
	}
	return say("I do not know that scene."), nil
}

// scene returns the words of the person's last message, the number of batches of calls that follow
// it, and the results of these calls as text. value converts a result to text.
func scene(history []*chatMessage, value func(functionResult) string) (words []string, turns int, results []string) {
	words = []string{"nothing"}
	for _, m := range history {
		switch m.role {
		case "user":
			if said := strings.Fields(m.text()); len(said) > 0 {
				words, turns, results = said, 0, nil
			}
		case "assistant":
			if len(m.calls()) > 0 {
				turns++
			}
		case "tool":
			for _, c := range *m.contents {
				if r, ok := c.(functionResult); ok {
					results = append(results, value(r))
				}
			}
		}
	}
	return words, turns, results
}

// providerTakes returns an error if a strict provider would refuse the history. Each call of an
// assistant message must have one result, and these results must be the messages directly after the
// assistant message. No result may be anywhere else. Ids of calls must be unique.
func providerTakes(history []*chatMessage) error {
	open, ever := map[string]bool{}, map[string]bool{}
	for n, m := range history {
		if m.role != "tool" && len(open) > 0 {
			return fmt.Errorf("messages[%d]: the tool calls before it have no response: %v", n, open)
		}
		for _, c := range *m.contents {
			switch c := c.(type) {
			case *functionCall:
				if ever[c.id] {
					return fmt.Errorf("messages[%d]: tool call id %s is not unique", n, c.id)
				}
				ever[c.id], open[c.id] = true, true
			case functionResult:
				if m.role != "tool" || !open[c.callID] {
					return fmt.Errorf("messages[%d]: a tool message for %s, which no preceding tool call waits for", n, c.callID)
				}
				delete(open, c.callID)
			}
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("the last tool calls have no response: %v", open)
	}
	return nil
}

func newCall(name string, args json.RawMessage) *functionCall {
	return &functionCall{id: "call_" + guid()[:24], name: name, args: args}
}

// guid returns a new Guid in .NET's format N: 32 hexadecimal digits.
func guid() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // rand.Read never fails
	return hex.EncodeToString(b[:])
}

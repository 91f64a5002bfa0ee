package strands

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/aguiwriter"
	"holdpoint/translate/kit"
)

// ids makes the ids of the messages in a run. They depend on the thread, the run, the interrupts
// that the run resumes, and the client's messages, so a repeated request gets the same ids. The run
// id alone is not enough, because CopilotKit resumes with the run id of the paused run.
type ids struct {
	base string
	n    int
}

func newIDs(r *translate.Request) *ids {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q", r.Input.ThreadID, r.Input.RunID)
	for _, i := range r.Pause.Interrupts {
		fmt.Fprintf(h, " %q", i.ID)
	}
	if len(r.ClientMessages) > 0 {
		fmt.Fprintf(h, " %d %q", len(r.ClientMessages), r.ClientMessages[len(r.ClientMessages)-1].ID)
	}
	return &ids{base: "strands-" + hex.EncodeToString(h.Sum(nil)[:8])}
}

func (i *ids) next() string {
	i.n++
	return fmt.Sprintf("%s-%d", i.base, i.n)
}

// maxCalls is the maximum number of ids of calls that are stored for the current message. It is
// also the maximum number of ids of results that are stored for the run.
const maxCalls = 4096

// A lane is the part of a stream that belongs to one agent. Frames of several agents, such as nodes
// of a graph or a swarm, may alternate. The lane records the open event of its agent, and which
// parts of the current message the client already has.
type lane struct {
	aguiwriter.Lane
	run  *run
	emit func(agui.Event)

	parent                string // id of the message that the next calls belong to
	hasText, hasReasoning bool   // deltas of the current message had text or reasoning
	// calls has keyOf(id) of each call of the current message that the client already has.
	calls map[string]bool
}

// newLane returns a lane. If a call has no arguments, the lane sends {}. The client sends the call
// back later, and providers accept only JSON as arguments.
func newLane(run *run, emit func(agui.Event)) *lane {
	return &lane{Lane: aguiwriter.Lane{NoArgs: `"{}"`}, run: run, emit: emit}
}

// sendText sends a piece of text. raw is a JSON string and is sent unchanged.
func (l *lane) sendText(raw string) {
	if raw == `""` {
		return // @ag-ui/client before 0.0.55 fails at an empty delta
	}
	l.hasText, l.run.shown = true, true
	l.Text(l.emit, func() string {
		l.parent = l.run.ids.next()
		return l.parent
	}, raw)
}

// sendReasoning sends a piece of reasoning, if the operator's file allows it. raw is a JSON string.
func (l *lane) sendReasoning(raw string) {
	if raw == `""` || !l.run.d.server.Reasoning {
		return
	}
	l.hasReasoning = true
	l.Reasoning(l.emit, l.run.ids.next, raw)
}

// maxCallID is the maximum length of a call's id in bytes. It is limited because the id is stored
// while the call is open.
const maxCallID = 4096

// call begins the call that a frame announces, if its id and name are valid.
func (l *lane) call(id, name gjson.Result) {
	if id.Type == gjson.String && id.Str != "" && len(id.Str) <= maxCallID && name.Type == gjson.String {
		l.begin(id.String(), name.String())
	}
}

// begin sends TOOL_CALL_START.
func (l *lane) begin(id, name string) {
	l.close()
	if l.parent == "" {
		l.parent = l.run.ids.next()
	}
	if l.calls == nil {
		l.calls = map[string]bool{}
	}
	if len(l.calls) < maxCalls {
		l.calls[keyOf(id)] = true
	}
	l.run.shown = true
	delete(l.run.answered, keyOf(id))
	l.Begin(l.emit, strings.Clone(id), name, l.parent)
}

// sendArguments sends a piece of the open call's arguments. raw is a JSON string.
func (l *lane) sendArguments(raw string) { l.Args(l.emit, raw) }

// argueWhole sends all arguments of a call in one piece.
func (l *lane) argueWhole(use gjson.Result) {
	if input := use.Get("input"); input.IsObject() {
		l.sendArguments(aguiwriter.Quoted(input.Raw))
	}
}

// close ends the open message or call.
func (l *lane) close() { l.Close(l.emit) }

// endBlock ends the open message or call. A call without arguments stays open, because the frame
// with the whole message may still have its arguments.
func (l *lane) endBlock() {
	if l.Call() == "" || l.HasArguments() {
		l.close()
	}
}

// newMessage closes the current message and begins an empty record for the next one.
func (l *lane) newMessage() {
	l.close()
	l.parent, l.hasText, l.hasReasoning, l.calls = "", false, false, nil
}

// assistant handles a frame with a whole message of the agent. It sends those parts of the message
// that the deltas did not have, and ends the message.
func (l *lane) assistant(content gjson.Result) {
	if l.run.refused != nil && l.run.isOld(content) {
		return
	}
	if l.Call() != "" && !l.HasArguments() {
		content.ForEach(func(_, block gjson.Result) bool {
			if use := block.Get("toolUse"); use.Get("toolUseId").String() == l.Call() {
				l.argueWhole(use)
			}
			return true
		})
	}
	l.close()
	said, reasoned, calls := l.hasText, l.hasReasoning, l.calls
	content.ForEach(func(_, block gjson.Result) bool {
		if text := block.Get("text"); text.Type == gjson.String && !said {
			l.sendText(text.Raw)
			l.close()
		}
		use := block.Get("toolUse")
		if id := use.Get("toolUseId"); use.IsObject() && !calls[keyOf(id.String())] {
			l.call(id, use.Get("name"))
			l.argueWhole(use)
			l.close()
		}
		thought := block.Get("reasoningContent.reasoningText.text")
		if !thought.Exists() {
			thought = block.Get("reasoning.text") // the form of TypeScript
		}
		if thought.Type == gjson.String && !reasoned {
			l.sendReasoning(thought.Raw)
			l.close()
		}
		return true
	})
	l.newMessage()
}

// isOld reports whether a message has a call that the client already has. An agent that is asked to
// repeat its questions sends such a message again.
func (run *run) isOld(content gjson.Result) bool {
	known, old := map[string]bool{}, false
	if run.r.Transcript != nil {
		for _, c := range run.r.Transcript.Calls() {
			known[c.ID] = true
		}
	}
	content.ForEach(func(_, block gjson.Result) bool {
		old = old || known[block.Get("toolUse.toolUseId").String()]
		return !old
	})
	return old
}

// results sends the tool results that a message with the role user contains.
func (l *lane) results(content gjson.Result) {
	content.ForEach(func(_, block gjson.Result) bool {
		if result := block.Get("toolResult"); result.IsObject() {
			l.result(result)
		}
		return true
	})
}

// result sends the result of a call, unless it was already sent. TypeScript repeats a result in two
// more events, and a Python graph repeats it too.
func (l *lane) result(result gjson.Result) {
	id := result.Get("toolUseId")
	if id.Type != gjson.String || id.Str == "" || l.run.answered[keyOf(id.Str)] {
		return
	}
	if len(l.run.answered) >= maxCalls {
		clear(l.run.answered)
	}
	l.run.answered[keyOf(id.String())] = true
	l.close()
	l.emit(kit.ToolReply{ID: l.run.ids.next(), Call: id.String(), Content: resultText(result.Get("content"))}.Event())
}

// resultText returns the content of a result as text for the client. Each text and each JSON value
// is on lines of its own. For pictures, documents and videos there is only the kind, such as
// [image], because the backend sends their bytes as the repr of a Python object, or not at all.
func resultText(content gjson.Result) string {
	out := ""
	content.ForEach(func(_, block gjson.Result) bool {
		part := ""
		block.ForEach(func(k, v gjson.Result) bool {
			switch {
			case k.Str == "text" && v.Type == gjson.String:
				part = v.String()
			case k.Str == "json":
				part = jsonText(v)
			default:
				part = "[" + k.String() + "]"
			}
			return false
		})
		if out != "" {
			out += "\n"
		}
		out += part
		return true
	})
	return out
}

// jsonText returns a JSON result as text. If TypeScript wrapped the value in an object, jsonText
// returns the inner value.
func jsonText(v gjson.Result) string {
	if inner := v.Get(`\$value`); inner.Exists() && len(v.Map()) == 1 {
		return inner.Raw
	}
	return v.Raw
}

// keyOf returns a copy of the id, or its hash if the id has more than 64 bytes. Without the copy,
// the id would keep the whole frame in memory.
func keyOf(id string) string {
	if len(id) <= 64 {
		return strings.Clone(id)
	}
	sum := sha256.Sum256([]byte(id))
	return string(sum[:])
}

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

// ids makes the ids of what a client's run shows. The same run has the same ids, and another run
// has others. A client may resume with the runId of the run that paused (CopilotKit does), but not
// with its interrupts.
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
	if len(r.Came) > 0 {
		fmt.Fprintf(h, " %d %q", len(r.Came), r.Came[len(r.Came)-1].ID)
	}
	return &ids{base: "strands-" + hex.EncodeToString(h.Sum(nil)[:8])}
}

func (i *ids) next() string {
	i.n++
	return fmt.Sprintf("%s-%d", i.base, i.n)
}

// maxCalls bounds how many of a message's calls are kept. They are kept to know which of them the
// deltas have shown.
const maxCalls = 4096

// A lane is one agent's part of a stream. The agent may be a node of a graph or a swarm, so its
// frames may come between those of another. The lane holds what is open there, and what of the
// current message has been shown.
type lane struct {
	aguiwriter.Lane
	run  *run
	emit func(agui.Event)

	parent         string // the message that a call belongs to
	said, reasoned bool   // the message at hand: its deltas were shown
	calls          map[string]bool
}

// newLane returns a lane. A call without arguments gets {}, because a model's provider takes
// nothing else for JSON when the client sends the call back.
func newLane(run *run, emit func(agui.Event)) *lane {
	return &lane{Lane: aguiwriter.Lane{NoArgs: `"{}"`}, run: run, emit: emit}
}

// say shows a piece of text. raw is a JSON string and stays as it came.
func (l *lane) say(raw string) {
	if raw == `""` {
		return // fatal to clients before 0.0.55
	}
	l.said, l.run.shown = true, true
	l.Text(l.emit, func() string {
		l.parent = l.run.ids.next()
		return l.parent
	}, raw)
}

// think shows a piece of reasoning, if it is to be shown.
func (l *lane) think(raw string) {
	if raw == `""` || !l.run.d.server.Reasoning {
		return
	}
	l.reasoned = true
	l.Reasoning(l.emit, l.run.ids.next, raw)
}

// maxCallID is the length of the longest id of a call. The id is kept while the call is open.
const maxCallID = 4096

// call begins a call out of a frame.
func (l *lane) call(id, name gjson.Result) {
	if id.Type == gjson.String && id.Str != "" && len(id.Str) <= maxCallID && name.Type == gjson.String {
		l.begin(id.String(), name.String())
	}
}

// begin shows the beginning of a call.
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

// argue shows a piece of the open call's arguments.
func (l *lane) argue(raw string) { l.Args(l.emit, raw) }

// argueWhole shows the arguments of a whole call.
func (l *lane) argueWhole(use gjson.Result) {
	if input := use.Get("input"); input.IsObject() {
		l.argue(aguiwriter.Quoted(input.Raw))
	}
}

// close ends what is open.
func (l *lane) close() { l.Close(l.emit) }

// endBlock ends what is open. A call without arguments stays open, because the whole message may
// have them.
func (l *lane) endBlock() {
	if l.Call() == "" || l.Argued() {
		l.close()
	}
}

// newMessage forgets what was shown of the message before.
func (l *lane) newMessage() {
	l.close()
	l.parent, l.said, l.reasoned, l.calls = "", false, false, nil
}

// assistant handles a whole message of the agent. It shows what the deltas did not, and ends the
// message.
func (l *lane) assistant(content gjson.Result) {
	if l.run.refused != nil && l.run.isOld(content) {
		return
	}
	if l.Call() != "" && !l.Argued() {
		content.ForEach(func(_, block gjson.Result) bool {
			if use := block.Get("toolUse"); use.Get("toolUseId").String() == l.Call() {
				l.argueWhole(use)
			}
			return true
		})
	}
	l.close()
	said, reasoned, calls := l.said, l.reasoned, l.calls
	content.ForEach(func(_, block gjson.Result) bool {
		if text := block.Get("text"); text.Type == gjson.String && !said {
			l.say(text.Raw)
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
			thought = block.Get("reasoning.text") // TypeScript
		}
		if thought.Type == gjson.String && !reasoned {
			l.think(thought.Raw)
			l.close()
		}
		return true
	})
	l.newMessage()
}

// isOld reports whether a message repeats calls that the client has. The message is of an agent
// that was asked what it waits for.
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

// results shows the results in a message of the user's role.
func (l *lane) results(content gjson.Result) {
	content.ForEach(func(_, block gjson.Result) bool {
		if result := block.Get("toolResult"); result.IsObject() {
			l.result(result)
		}
		return true
	})
}

// result shows the result of a call once. TypeScript repeats it in two more events, and Python in a
// graph.
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

// resultText returns what a client shows of a result: its texts and its JSON, each on lines of its
// own. Pictures, documents and videos are only named, because their bytes come as the repr of a
// Python object, if at all.
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

// jsonText returns a JSON result. TypeScript wraps every value that is not an object.
func jsonText(v gjson.Result) string {
	if inner := v.Get(`\$value`); inner.Exists() && len(v.Map()) == 1 {
		return inner.Raw
	}
	return v.Raw
}

// keyOf bounds the size of a key. A backend's id may be as long as a frame, and would keep the
// frame in memory.
func keyOf(id string) string {
	if len(id) <= 64 {
		return strings.Clone(id)
	}
	sum := sha256.Sum256([]byte(id))
	return string(sum[:])
}

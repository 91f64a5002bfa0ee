package superagent

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

const (
	// maxSaid bounds how much of a stream's text is kept. It is kept to see whether it holds the
	// question.
	maxSaid = 256 << 10
	// maxCalls bounds the calls that wait for their results. If there are more, a result gets a
	// call of its own.
	maxCalls = 4096
)

// A writer makes the events of a run: texts, reasoning and calls. It begins and ends each, with ids
// that the thread has not seen.
type writer struct {
	prefix string // of all ids
	n      int

	open  agui.Type // the START of what is open: TextStart, ReasoningStart or Unknown
	id    string    // of it
	fence bool      // a code block is open in the text

	calls map[string]string // calls without a result: the server's id, ours
	known map[string]bool   // ids that may not be used again
	said  []byte            // the text of the stream, without white space
}

// newWriter makes a writer for a run. It does not use the runId alone for its ids, because
// CopilotKit resumes with the interrupted run's.
func newWriter(r *translate.Request) *writer {
	from := []string{r.Input.ThreadID, r.Input.RunID}
	for _, i := range r.Pause.Interrupts {
		from = append(from, i.ID)
	}
	w := &writer{calls: map[string]string{}, known: map[string]bool{}}
	for _, m := range r.Came {
		from = append(from, m.ID)
		for _, c := range gjson.GetBytes(m.JSON, "toolCalls").Array() {
			w.known[c.Get("id").Str] = true
		}
	}
	if r.Transcript != nil && r.Pause.ID != "" { // the record may know more than the client sends
		for _, c := range r.Transcript.Calls() {
			w.known[c.ID] = true
		}
	}
	w.prefix = hash(from...)
	return w
}

func (w *writer) next() string {
	w.n++
	return w.prefix + "-" + strconv.Itoa(w.n)
}

// event is an event that is small enough to be marshalled.
type event struct {
	Type    agui.Type       `json:"type"`
	Message string          `json:"messageId,omitempty"`
	Role    string          `json:"role,omitempty"`
	Call    string          `json:"toolCallId,omitempty"`
	Tool    string          `json:"toolCallName,omitempty"`
	Delta   string          `json:"delta,omitempty"`
	Content *string         `json:"content,omitempty"`
	Name    string          `json:"name,omitempty"`
	Value   json.RawMessage `json:"value,omitempty"`
	Meta    json.RawMessage `json:"metadata,omitempty"`
}

func (e event) make() agui.Event { return agui.NewEvent(agui.MustMarshal(e)) }

// begin opens a text or reasoning, unless that is open, and closes the other.
func (w *writer) begin(what agui.Type, emit func(agui.Event)) {
	if w.open == what {
		return
	}
	w.close(emit)
	w.open, w.id = what, w.next()
	if what == agui.TextStart {
		emit(event{Type: what, Message: w.id, Role: "assistant"}.make())
		return
	}
	emit(event{Type: what, Message: w.id}.make())
	emit(event{Type: agui.ReasoningMsgStart, Message: w.id, Role: "reasoning"}.make())
}

// close ends what is open.
func (w *writer) close(emit func(agui.Event)) {
	w.endFence(emit)
	switch w.open {
	case agui.TextStart:
		emit(event{Type: agui.TextEnd, Message: w.id}.make())
	case agui.ReasoningStart:
		emit(event{Type: agui.ReasoningMsgEnd, Message: w.id}.make())
		emit(event{Type: agui.ReasoningEnd, Message: w.id}.make())
	}
	w.open = agui.Unknown
}

// text writes a piece of what the assistant says.
func (w *writer) text(delta string, emit func(agui.Event)) {
	if delta == "" {
		return
	}
	w.endFence(emit)
	w.write(delta, emit)
}

func (w *writer) write(delta string, emit func(agui.Event)) {
	w.begin(agui.TextStart, emit)
	emit(event{Type: agui.TextContent, Message: w.id, Delta: delta}.make())
	if len(w.said) < maxSaid {
		w.said = append(w.said, squeezed(delta)...)
	}
}

// holds says whether the text was said already. Newlines get lost in tokens, so white space does
// not count.
func (w *writer) holds(text string) bool { return strings.Contains(string(w.said), squeezed(text)) }

func squeezed(text string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsSpace(c) {
			return -1
		}
		return c
	}, text)
}

func (w *writer) reasoning(delta string, emit func(agui.Event)) {
	if delta == "" {
		return
	}
	w.begin(agui.ReasoningStart, emit)
	emit(event{Type: agui.ReasoningContent, Message: w.id, Delta: delta}.make())
}

// code writes a piece of a code block as text.
func (w *writer) code(language, delta string, emit func(agui.Event)) {
	if delta == "" {
		return
	}
	if !w.fence {
		lead := "```" + strings.TrimSpace(language) + "\n"
		if w.open == agui.TextStart {
			lead = "\n" + lead
		}
		w.write(lead, emit)
		w.fence = true
	}
	w.write(delta, emit)
}

func (w *writer) endFence(emit func(agui.Event)) {
	if w.fence {
		w.fence = false
		w.write("\n```\n", emit)
	}
}

// call writes a call that began. If the call waits for its result already, it writes nothing.
func (w *writer) call(id, name string, args gjson.Result, emit func(agui.Event)) {
	if _, waits := w.calls[id]; waits && id != "" {
		return
	}
	w.close(emit)
	ours := id
	if ours == "" || w.known[ours] {
		ours = w.next()
	}
	if len(w.calls) >= maxCalls {
		clear(w.calls)
	}
	if len(w.known) < maxCalls {
		w.known[ours] = true
	}
	w.calls[id] = ours
	given := "{}"
	if s := payloadText(args); s != "" {
		given = s
	}
	emit(event{Type: agui.CallStart, Call: ours, Tool: name}.make())
	emit(event{Type: agui.CallArgs, Call: ours, Delta: given}.make())
	emit(event{Type: agui.CallEnd, Call: ours}.make())
}

// result writes a call's result. If nobody has seen the call, it writes that first.
func (w *writer) result(id, name string, result gjson.Result, failed bool, emit func(agui.Event)) {
	if _, waits := w.calls[id]; !waits {
		w.call(id, name, gjson.Result{}, emit)
	}
	w.close(emit)
	content := payloadText(result)
	ev := event{Type: agui.CallResult, Message: w.next(), Role: "tool", Call: w.calls[id], Content: &content}
	if failed {
		ev.Meta = json.RawMessage(`{"` + Name + `":{"is_error":true}}`)
	}
	delete(w.calls, id)
	emit(ev.make())
}

// custom writes something that AG-UI has no event for.
func (w *writer) custom(name string, value gjson.Result, emit func(agui.Event)) {
	emit(event{Type: agui.Custom, Name: Name + "." + name, Value: json.RawMessage(value.Raw)}.make())
}

// payloadText returns a text, or the JSON text of something else.
func payloadText(v gjson.Result) string {
	switch v.Type {
	case gjson.String:
		return v.Str
	case gjson.Null:
		return ""
	}
	return v.Raw
}

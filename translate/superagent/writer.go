package superagent

import (
	"cmp"
	"strconv"
	"strings"
	"unicode"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/aguiwriter"
	"holdpoint/translate/kit"
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

	lane  aguiwriter.Lane
	ids   func() string // is next, made once
	fence bool          // a code block is open in the text

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
	for _, m := range r.ClientMessages {
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
	w.prefix, w.ids = hash(from...), w.next
	return w
}

func (w *writer) next() string {
	w.n++
	return w.prefix + "-" + strconv.Itoa(w.n)
}

// close ends what is open.
func (w *writer) close(emit func(agui.Event)) {
	w.endFence(emit)
	w.lane.Close(emit)
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
	w.lane.Text(emit, w.ids, aguiwriter.Quoted(delta))
	if len(w.said) < maxSaid {
		w.said = append(w.said, squeezed(delta)...)
	}
}

// holds reports whether the text was said already. Newlines get lost in tokens, so white space does
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
	w.endFence(emit)
	w.lane.Reasoning(emit, w.ids, aguiwriter.Quoted(delta))
}

// code writes a piece of a code block as text.
func (w *writer) code(language, delta string, emit func(agui.Event)) {
	if delta == "" {
		return
	}
	if !w.fence {
		lead := "```" + strings.TrimSpace(language) + "\n"
		if w.lane.Open() == agui.TextStart {
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
	w.lane.Begin(emit, ours, name, "")
	w.lane.Args(emit, aguiwriter.Quoted(cmp.Or(kit.PlainText(args), "{}")))
	w.lane.Close(emit)
}

// result writes a call's result. If nobody has seen the call, it writes that first.
func (w *writer) result(id, name string, result gjson.Result, failed bool, emit func(agui.Event)) {
	if _, waits := w.calls[id]; !waits {
		w.call(id, name, gjson.Result{}, emit)
	}
	w.close(emit)
	metadata := ""
	if failed {
		metadata = `{"` + Name + `":{"is_error":true}}`
	}
	aguiwriter.Result(emit, w.next(), w.calls[id], kit.PlainText(result), metadata)
	delete(w.calls, id)
}

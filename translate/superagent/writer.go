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
	// maxSaid is the maximum size in bytes of a stream's text that is stored. It is stored to check
	// whether the text contains the question.
	maxSaid = 256 << 10
	// maxCalls is the maximum number of stored calls that wait for their results. If a call is not
	// stored, its result gets a new call.
	maxCalls = 4096
)

// A writer makes the events of texts, reasoning and calls. It sends the start and the end of each,
// with ids that do not yet occur in the thread.
type writer struct {
	prefix string // the beginning of all ids
	n      int

	lane  aguiwriter.Lane
	ids   func() string // the method next as a func, made only once
	fence bool          // a code block is open in the text

	calls        map[string]string // calls without a result: from the server's id to the sent id
	usedIDs      map[string]bool   // ids of calls that are in the thread
	squeezedText []byte            // the stream's text without white space
}

// newWriter returns the writer of a run. Its ids depend on more than the run id, because CopilotKit
// resumes with the run id of the interrupted run.
func newWriter(r *translate.Request) *writer {
	from := []string{r.Input.ThreadID, r.Input.RunID}
	for _, i := range r.Pause.Interrupts {
		from = append(from, i.ID)
	}
	w := &writer{calls: map[string]string{}, usedIDs: map[string]bool{}}
	for _, m := range r.ClientMessages {
		from = append(from, m.ID)
		for _, c := range gjson.GetBytes(m.JSON, "toolCalls").Array() {
			w.usedIDs[c.Get("id").Str] = true
		}
	}
	// The record may have calls that the client did not send.
	if r.Transcript != nil && r.Pause.ID != "" {
		for _, c := range r.Transcript.Calls() {
			w.usedIDs[c.ID] = true
		}
	}
	w.prefix, w.ids = hash(from...), w.next
	return w
}

func (w *writer) next() string {
	w.n++
	return w.prefix + "-" + strconv.Itoa(w.n)
}

// close ends the open text, reasoning and code block.
func (w *writer) close(emit func(agui.Event)) {
	w.endFence(emit)
	w.lane.Close(emit)
}

// text sends a piece of the assistant's text.
func (w *writer) text(delta string, emit func(agui.Event)) {
	if delta == "" {
		return
	}
	w.endFence(emit)
	w.write(delta, emit)
}

func (w *writer) write(delta string, emit func(agui.Event)) {
	w.lane.Text(emit, w.ids, aguiwriter.Quoted(delta))
	if len(w.squeezedText) < maxSaid {
		w.squeezedText = append(w.squeezedText, withoutSpace(delta)...)
	}
}

// hasText reports whether the stream contained the text. It ignores white space, because tokens
// lose newlines.
func (w *writer) hasText(text string) bool {
	return strings.Contains(string(w.squeezedText), withoutSpace(text))
}

func withoutSpace(text string) string {
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

// code sends a piece of a code block as text.
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

// call sends a call, unless a call with this id already waits for its result.
func (w *writer) call(id, name string, args gjson.Result, emit func(agui.Event)) {
	if _, waits := w.calls[id]; waits && id != "" {
		return
	}
	w.close(emit)
	ours := id
	if ours == "" || w.usedIDs[ours] {
		ours = w.next()
	}
	if len(w.calls) >= maxCalls {
		clear(w.calls)
	}
	if len(w.usedIDs) < maxCalls {
		w.usedIDs[ours] = true
	}
	w.calls[id] = ours
	w.lane.Begin(emit, ours, name, "")
	w.lane.Args(emit, aguiwriter.Quoted(cmp.Or(kit.PlainText(args), "{}")))
	w.lane.Close(emit)
}

// result sends the result of a call. If the call itself was not sent, result sends the call first.
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

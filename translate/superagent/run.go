package superagent

import (
	"cmp"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/aguiwriter"
)

// A run translates one exchange.
type run struct {
	d             *Dialect
	r             *translate.Request
	out           *writer
	resumes       bool // the exchange carries answers
	cancelled     bool // the answer is a cancel
	dropsMessages bool // the client sent messages with its answer that cannot be sent

	asked *question // the last question: the server keeps only one for each thread
	// failure is a token that may report a failure of the server. If another token follows, failure
	// was an ordinary text of a model.
	failure string
}

func (d *Dialect) newRun(r *translate.Request) *run { return &run{d: d, r: r, out: newWriter(r)} }

// Framing implements translate.Decoder.
func (*run) Framing(mediaType string) translate.Framing {
	if mediaType == "text/event-stream" {
		return translate.Frames
	}
	return translate.Unread
}

// Event implements translate.Run. It forwards the events that Decode makes unchanged.
func (*run) Event(ev agui.Event, emit func(agui.Event)) error {
	emit(ev)
	return nil
}

// Decode implements translate.Decoder.
func (run *run) Decode(p translate.Piece, emit func(agui.Event)) error {
	f := readFrame(p)
	switch f.kind {
	case "":
		return nil
	case "done":
		run.finish(emit)
		return nil
	case token:
		if strings.TrimSpace(f.text) == done {
			run.finish(emit)
			return nil
		}
	}
	if run.failure != "" { // another frame followed
		run.out.text(run.failure, emit)
		run.failure = ""
	}
	switch f.kind {
	case token:
		run.text(f.text, emit)
	case "text": // the member content repeats delta, or is empty
		run.text(f.data.Get("delta").Str, emit)
	case "interrupt":
		run.ask(readInterrupt(f.data, f.at), emit)
	case "error":
		run.fail(f.data.Get("message").Str, f.data.Get("code").Str, emit)
	default:
		run.show(f, emit)
	}
	return nil
}

// show sends the events for a frame that is neither text nor the end of the stream.
func (run *run) show(f frame, emit func(agui.Event)) {
	w, data := run.out, f.data
	switch f.kind {
	case "thinking":
		w.reasoning(data.Get("delta").Str, emit)
	case "code_block":
		w.code(data.Get("language").Str, cmp.Or(data.Get("delta").Str, data.Get("code").Str), emit)
	case "tool_call":
		if status := data.Get("status").Str; data.IsObject() && (status == "" || status == "calling") {
			w.call(data.Get("id").Str, data.Get("name").Str, data.Get("arguments"), emit)
		}
	case "tool_result":
		if data.IsObject() {
			w.result(data.Get("id").Str, data.Get("name").Str, data.Get("result"), data.Get("is_error").Type == gjson.True, emit)
		}
	default: // progress, agent_switch
		if data.IsObject() {
			aguiwriter.Custom(emit, Name+"."+f.kind, string(agui.AppendCompact(nil, []byte(data.Raw))))
		}
	}
}

// failurePrefix is the beginning of a token that reports a failure of the server. In a stream of
// tokens, a failure has no other form.
const failurePrefix = "[error] "

func (run *run) text(delta string, emit func(agui.Event)) {
	q, asks := readMarker(delta)
	switch {
	case asks:
		run.ask(q, emit)
	case strings.HasPrefix(delta, failurePrefix):
		run.failure = delta
	default:
		run.out.text(delta, emit)
	}
}

func (run *run) ask(q *question, emit func(agui.Event)) {
	if q == nil {
		run.out.close(emit)
		emit(agui.Errorf(agui.UpstreamStatus, textUnreadable).Event())
		return
	}
	run.asked = q
}

// finish ends a stream that ended without an error frame.
func (run *run) finish(emit func(agui.Event)) {
	run.out.close(emit)
	if run.failure != "" && run.asked == nil {
		emit(run.failed())
		return
	}
	emit(run.finished())
}

func (run *run) fail(message, code string, emit func(agui.Event)) {
	if run.asked != nil {
		return // the server keeps the question, and the method End reports it
	}
	run.out.close(emit)
	emit(failedWith(message, code))
}

func (run *run) failed() agui.Event {
	return failedWith(strings.TrimPrefix(run.failure, failurePrefix), "")
}

// failedWith returns a RUN_ERROR with the server's message and code. If message is empty, a text of
// Holdpoint replaces it.
func failedWith(message, code string) agui.Event {
	e := agui.RunError{Code: agui.Code(code), Message: cmp.Or(message, textNoReason)}
	return e.Event()
}

func (run *run) finished() agui.Event {
	finish := agui.FinishedEvent(run.r.Input.ThreadID, run.r.Input.RunID)
	if run.dropsMessages {
		finish.JSON = agui.SetString(finish.JSON, "metadata.holdpoint.code", string(agui.MessagesNotTaken))
	}
	return finish
}

// End implements translate.Run. If the server has asked a question, the question is open whatever
// follows in the stream, because the server keeps it.
func (run *run) End(e translate.End) (translate.Result, error) {
	switch {
	case run.asked != nil:
		return run.paused(), nil
	case e.None:
		return run.endWell(run.finished()), nil
	case e.Status != 0:
		return run.endRefused(e.Status), nil
	case e.Event.Type == agui.RunFinished:
		return run.endWell(e.Event), nil
	case e.Event.Type == agui.RunErrored:
		return translate.Result{Finish: e.Event}, nil
	case run.failure != "":
		return translate.Result{Finish: run.failed()}, nil
	}
	return translate.Result{}, nil
}

// paused returns the result of a run that asks a question. It adds the text of the question as a
// message, because the server does not stream that text, and the conversation would lack it.
func (run *run) paused() translate.Result {
	asked := translate.AskedPause{Interrupts: []agui.Interrupt{run.asked.interrupt(run.d, run.r.Input.ThreadID)}}
	res := translate.Result{Asked: asked, Finish: run.finished()}
	before := func(ev agui.Event) { res.HeldEvents = append(res.HeldEvents, ev) }
	run.out.close(before)
	if run.failure != "" { // a question followed, so this token was a model's text
		run.out.text(run.failure, before)
	}
	if reason := run.asked.reason; strings.TrimSpace(reason) != "" && !run.out.hasText(reason) {
		run.out.close(before)
		run.out.text(reason, before)
	}
	run.out.close(before)
	return res
}

// endRefused returns the result of a response that is not a stream. With a zero Result, the client
// gets the response unchanged.
func (run *run) endRefused(status int) translate.Result {
	switch {
	case !run.resumes:
	case status == 409 && run.cancelled: // the server does not wait, so nothing is left to cancel
		return run.endWell(run.finished())
	case status == 409, status == 404 && run.cancelled:
		// If the server refuses a cancel, the question must not stay open forever.
		return translate.Result{Fate: translate.Lost}
	case status == 404:
		return translate.Result{Finish: agui.Errorf(agui.UpstreamStatus, textNoAnswers).Event()}
	}
	return translate.Result{}
}

// endWell returns the result of a run that ended without an error. If the client sent new messages
// with its answer, the result's Next is an exchange that sends them.
func (run *run) endWell(finish agui.Event) translate.Result {
	if !run.resumes || len(run.r.NewMessages) == 0 {
		return translate.Result{Finish: finish}
	}
	message, left := extraText(run.r.NewMessages)
	run.dropsMessages = left
	if message == "" {
		return translate.Result{Finish: run.finished()}
	}
	out := run.d.chat(run.r, message)
	out.TakesNew = true
	run.out.squeezedText = nil
	return translate.Result{Next: &translate.Exchange{Out: out, Run: run.next(run.r.Plain())}}
}

// next returns the run of the second exchange. Its ids continue those of the first exchange.
func (run *run) next(r *translate.Request) translate.Run {
	behind := *run
	behind.r, behind.resumes, behind.cancelled, behind.failure = r, false, false, ""
	return &behind
}

package proxy

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/internal/tanstack"
	"holdpoint/proxy/internal/stream"
	"holdpoint/store"
	"holdpoint/translate"
)

// tell writes a whole stream that no backend was asked for.
func (r *run) tell(out *stream.Writer, events []agui.Event) {
	r.beginStream(out)
	var b []byte
	for _, ev := range events {
		r.readable.tell(ev, func(ev agui.Event) {
			b = stream.AppendEvent(b, ev)
			r.report.told++
		})
	}
	if _, err := out.Write(b); err != nil {
		r.log.Debug("the client is gone", "err", err)
		return
	}
	_ = out.FlushError() // a client that is gone is seen at the next write
}

// beginStream sends the header of a stream of our own, once.
func (r *run) beginStream(out *stream.Writer) {
	if out.Began() {
		return
	}
	streamHeader(out.Header())
	r.returnID(out.Header())
	r.h.allowOwn(out.Header(), r.request.http)
	out.WriteHeader(http.StatusOK)
	_ = out.FlushError()
}

// protocolVersion is what Holdpoint declares where the backend declares nothing.
const protocolVersion = "1.0"

// withRunIDs gives a run's first and last event the request's ids: backends invent runIds
// (LangGraph's TypeScript adapter ends every run with the server's own). In a RUN_ERROR the thread
// is the client's, if it is named at all.
func (r *run) withRunIDs(ev agui.Event) agui.Event {
	var few [3]agui.Edit
	if edits := r.appendIDs(few[:0], ev); len(edits) > 0 {
		return ev.With(agui.SetKeys(ev.JSON, edits...))
	}
	return ev
}

// forClient is an end as the client can read it. The outcome cancelled and the member
// pendingToolCallIds came with AG-UI 1.0. Older clients, which declare no version, fail at either
// and keep their list of open questions (@ag-ui/client 0.0.59). Without them the run has finished
// for such a client.
func (r *run) forClient(finish agui.Event) agui.Event {
	if finish.Type != agui.RunFinished || r.in.ProtocolVersion != "" || r.show == translate.ShowNative || !finish.Valid() {
		return finish
	}
	switch outcome := agui.View(finish.JSON).Get("outcome"); {
	case outcome.Get("type").Str == "cancelled":
		return finish.With(agui.DeleteKey(finish.JSON, "outcome"))
	case outcome.Get("pendingToolCallIds").Exists():
		return finish.With(agui.DeleteKey(finish.JSON, "outcome.pendingToolCallIds"))
	}
	return finish
}

// appendIDs appends what withRunIDs has to change.
func (r *run) appendIDs(edits []agui.Edit, ev agui.Event) []agui.Edit {
	if ev.Type == agui.RunErrored && ev.Valid() {
		return r.appendThread(edits, ev) // some backends name it there too (CrewAI)
	}
	if ev.Type != agui.RunStarted && ev.Type != agui.RunFinished || !ev.Valid() {
		return edits
	}
	if edits = r.appendEcho(edits, ev); r.body != nil && r.body.laterRuns > 0 {
		return r.appendThread(edits, ev)
	}
	object := agui.View(ev.JSON)
	if thread := r.request.clientThread(); object.Get("threadId").Str != thread {
		edits = append(edits, agui.Edit{Key: "threadId", Text: thread})
	}
	if object.Get("runId").Str != r.in.RunID {
		edits = append(edits, agui.Edit{Key: "runId", Text: r.in.RunID})
	}
	if ev.Type == agui.RunStarted && r.in.ProtocolVersion != "" && !object.Get("protocolVersion").Exists() {
		edits = append(edits, agui.Edit{Key: "protocolVersion", Text: protocolVersion})
	}
	return edits
}

func (r *run) startEvent() agui.Event {
	version := ""
	if r.in.ProtocolVersion != "" {
		version = protocolVersion
	}
	return agui.StartedEvent(r.request.clientThread(), r.in.RunID, version)
}

func (r *run) finishEvent() agui.Event {
	return agui.FinishedEvent(r.request.clientThread(), r.in.RunID)
}

// tellPause tells an open pause in the form that the client is shown: the backend's announcement
// (announce), what else there is to tell, the end. Of our own forms the questions are left out that
// are decided.
func (r *run) tellPause(p *agui.Pause, announce, more []agui.Event) []agui.Event {
	p = p.Undecided()
	events := make([]agui.Event, 0, len(announce)+len(more)+2)
	if r.show != translate.ShowOutcome {
		events = append(events, announce...)
	}
	if r.show == translate.ShowBoth && len(p.Native) == 0 {
		events = append(events, customInterrupt(p))
	}
	events = append(events, more...)
	how := r.tellingOf(p)
	if how == byText {
		events = append(events, r.questionText(p)...)
	}
	if r.show == translate.ShowNative && p.NativeFinish != nil && how != byOutcome {
		return append(events, r.withRunIDs(agui.NewEvent(tanstack.FinishOfRun(p.NativeFinish, r.in.RunID))))
	}
	return append(events, r.outcomeEvent(p))
}

// announcement is how the backend itself announced the pause. Calls that the client has in its
// history are left out: it would append their arguments to those that it has.
func (r *run) announcement(p *agui.Pause) []agui.Event {
	var events []agui.Event
	var known map[string]bool
	for _, own := range p.Native {
		ev := agui.NewEvent(own)
		switch ev.Type {
		case agui.CallStart, agui.CallArgs, agui.CallEnd, agui.CallChunk:
			if known == nil {
				known = r.request.calls()
			}
			if known[ev.Get("toolCallId").Str] {
				continue
			}
		}
		events = append(events, ev)
	}
	return events
}

const outcomeStart = `{"type":"interrupt","interrupts":[`

// outcomeEvent is RUN_FINISHED with the interrupt outcome.
func (r *run) outcomeEvent(p *agui.Pause) agui.Event {
	size := len(outcomeStart)
	for _, i := range p.Interrupts {
		size += len(i.Object) + 1
	}
	outcome := append(make([]byte, 0, size+2), outcomeStart...)
	var binder *tanstack.Binder
	if r.show != translate.ShowNative {
		binder = tanstack.NewBinder(r.in.Raw, r.in.RunID)
	}
	for n, i := range p.Interrupts {
		if n > 0 {
			outcome = append(outcome, ',')
		}
		told, bound := tanstack.OfRun(i.Told(), r.in.RunID)
		if !bound {
			told = binder.Bound(told, i)
		}
		outcome = agui.AppendCompact(outcome, told)
	}
	outcome = append(outcome, "]}"...)
	finish := p.Finish
	if agui.View(p.NativeFinish).Get("outcome").IsObject() {
		finish = p.NativeFinish // the outcome keeps its place among the keys
	}
	var few [3]agui.Edit
	edits := append(r.appendIDs(few[:0], agui.NewEvent(finish)), agui.Edit{Key: "outcome", JSON: outcome})
	finish = agui.SetKeys(finish, edits...)
	if len(r.beside) > 0 {
		finish = agui.SetString(finish, "metadata.holdpoint.code", string(agui.MessagesNotTaken))
	}
	return agui.NewEvent(finish)
}

// customInterrupt is the CUSTOM on_interrupt for clients that know only that. It is made where the
// backend sends none. The value is JSON text, as LangGraph's is. The ids stand in it, so a client
// that echoes it (command.interruptEvent) says what it answers. One event tells all questions,
// because such clients keep the last event only.
func customInterrupt(p *agui.Pause) agui.Event {
	value := []byte(p.Interrupts[0].Told())
	if len(p.Interrupts) > 1 {
		objects := make([]json.RawMessage, len(p.Interrupts))
		for n, i := range p.Interrupts {
			objects[n] = i.Told()
		}
		value = agui.MustMarshal(map[string]any{"interrupts": objects})
	}
	return agui.NewEvent(agui.MustMarshal(struct {
		Type  agui.Type `json:"type"`
		Name  string    `json:"name"`
		Value string    `json:"value"`
	}{agui.Custom, agui.OnInterrupt, string(value)}))
}

// again tells the open pause to a request that brings nothing new: a reloaded page, the same POST
// once more.
func (r *run) again() []agui.Event {
	p := r.record.Pause
	r.report.outcome, r.report.paused = "interrupt again", p
	var shown []agui.Event
	if r.show != translate.ShowNative { // to such a client its backend's own stream is told again, and nothing else
		shown = r.storedSnapshots(askedSnapshots(p), p.Seen)
	}
	events := append([]agui.Event{r.startEvent()}, r.calledAgain(p)...)
	return append(events, r.tellPause(r.withRetoldIDs(p), r.announcement(p), shown)...)
}

func (r *run) quiet() []agui.Event {
	return []agui.Event{r.startEvent(), r.withNotTaken(r.finishEvent())}
}

// replay tells the recorded end of the pause that the same answers ended. If the thread has gone on
// to another question, that one is told: a client that was told nothing would lose it.
func (r *run) replay(result *store.Result) []agui.Event {
	open := r.stillAsked()
	if failed := agui.PeekType(result.Finish) == agui.RunErrored; open != nil && !failed {
		return r.again()
	}
	if result.Next != "" {
		r.report.outcome = "replay"
		events := append([]agui.Event{r.startEvent()}, r.streamedEnd(result)...)
		return append(append(events, r.latestSnapshots()...), r.finishEvent())
	}
	r.report.outcome = "replay"
	finish := r.forClient(r.withRunIDs(agui.NewEvent(slices.Clone(result.Finish)))) // another client may have been told it
	events := append([]agui.Event{r.startEvent()}, r.streamedEnd(result)...)
	if r.showsEnd(result.Pause) {
		events = append(events, r.storedSnapshots(endedSnapshots(result), result.Seen)...)
	}
	if finish.Type != agui.RunErrored {
		return append(events, finish)
	}
	return r.lastWords(events, finish, open, aftermathOf(result))
}

// refusal is what a refused request is told. What can still be asked is asked again. Where the
// question has ended, a page that does not know it yet is shown what came of it.
func (r *run) refusal(v contract.Ruling) []agui.Event {
	if v.Refusal == nil {
		v.Refusal = agui.Errorf(agui.ResumeInProgress, "the client left while a resume of this thread was running")
	}
	r.report.outcome, r.report.code = "refused", v.Refusal.Code
	r.tellRefused(v.Refusal.Code)
	events := []agui.Event{r.startEvent()}
	var open *agui.Pause
	if v.Reask {
		open = r.stillAsked()
	}
	if open == nil && r.answersSomething() {
		events = append(events, r.latestSnapshots()...)
	}
	return r.endWith(events, v.Refusal.Event(), open, r.ruledRefusal(v.Refusal, v.Stands))
}

// stillAsked is the pause of the record if it has a question that waits for its answer, else nil.
func (r *run) stillAsked() *agui.Pause {
	if p := r.record.Pause; r.record.State == store.Open && !p.Decided() {
		return p
	}
	return nil
}

// tellAgain tells the pause of the record as it stands, whatever this request has brought, and why
// it is told again.
func (r *run) tellAgain(p *agui.Pause, why *refusal) []agui.Event {
	defer func(beside messagesBesideAnswers) { r.beside = beside }(r.beside)
	r.beside = nil
	if r.show == translate.ShowNative {
		return r.tellPause(p, r.announcement(p), nil)
	}
	told := *r.withRetoldIDs(p)
	told.Interrupts = slices.Clone(told.Interrupts)
	for n := range told.Interrupts {
		i := &told.Interrupts[n]
		i.Object = withRefusal(i.Object, why)
	}
	events := append(r.calledAgain(p), r.tellPause(&told, r.announcement(p), nil)...)
	last := len(events) - 1
	events[last] = r.explained(events[last], why)
	return events
}

// streamHeader makes a header that of an event stream of Holdpoint's own bytes.
func streamHeader(header http.Header) {
	for _, name := range []string{"Content-Length", "Content-Encoding", "Etag", "Digest", "Content-Md5", "Last-Modified", "Accept-Ranges", "Trailer"} {
		delete(header, name)
	}
	if !stream.IsEventStream(header) {
		header.Set("Content-Type", "text/event-stream")
	}
	header.Set("Cache-Control", uncached(header["Cache-Control"]))
	header.Set("X-Accel-Buffering", "no") // nginx in front would hold frames back
}

// uncached is what a backend said of caches, and that nobody may store a stream or change it: a
// proxy that compresses one holds frames back.
func uncached(said []string) string {
	var list []string
	stores, changes := true, true
	for _, one := range strings.Split(strings.Join(said, ","), ",") {
		if one = strings.TrimSpace(one); one == "" {
			continue
		}
		list = append(list, one)
		stores = stores && !strings.EqualFold(one, "no-cache") && !strings.EqualFold(one, "no-store")
		changes = changes && !strings.EqualFold(one, "no-transform")
	}
	if stores {
		list = append(list, "no-cache")
	}
	if changes {
		list = append(list, "no-transform")
	}
	return strings.Join(list, ", ")
}

package phrases

import (
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

var _ translate.Passer = (*run)(nil)

// A run translates one exchange. It looks for a question only at the end of the stream.
type run struct {
	d            *Dialect
	r            *translate.Request
	answer       *agui.Message // on a resume: the message with the answer
	snapshotSent bool          // the client has been sent the answer, if possible
}

// Event implements translate.Run.
func (run *run) Event(ev agui.Event, emit func(agui.Event)) error {
	emit(ev)
	if ev.Type == agui.RunStarted && run.answer != nil && !run.snapshotSent {
		if snapshot, ok := run.snapshot(); ok {
			emit(snapshot)
		}
		run.snapshotSent = true
	}
	return nil
}

// Passes implements translate.Passer.
func (run *run) Passes(t agui.Type) bool {
	return t != agui.RunStarted || run.answer == nil || run.snapshotSent
}

// snapshot returns a MESSAGES_SNAPSHOT with the client's history and the answer. It returns false
// if a part of the history is unknown, because a client deletes the messages that a snapshot leaves
// out. It also returns false if two messages have the same id, or with ShowNative.
func (run *run) snapshot() (agui.Event, bool) {
	if run.r.Show == translate.ShowNative {
		return agui.Event{}, false
	}
	known, ok := kit.KnownMessages(run.r)
	if !ok {
		return agui.Event{}, false
	}
	list := append(withAnswer(known, *run.answer), run.r.NewMessages...)
	ids := make(map[string]bool, len(list))
	for _, m := range list {
		if m.ID == "" || ids[m.ID] {
			return agui.Event{}, false // a client keeps only one of two messages with the same id
		}
		ids[m.ID] = true
	}
	return agui.MessagesEvent(list), true
}

// End implements translate.Run. With ShowNative it asks no question, because the user of such a
// client answers in words.
func (run *run) End(e translate.End) (translate.Result, error) {
	res := translate.Result{Finish: e.Event}
	if e.Event.Type != agui.RunFinished || !e.Event.Valid() {
		return res, nil
	}
	if !plainEnd(e.Event) || run.waits() {
		return run.reportUnsentMessages(res), nil
	}
	asked := run.d.lastText(run.r.Transcript)
	if asked == nil || run.earlierIDs()[asked.id] || run.r.Show == translate.ShowNative {
		return run.endWell(res), nil
	}
	res.Asked = translate.AskedPause{Interrupts: []agui.Interrupt{asked.interrupt()}}
	if e.Event.Get("outcome").Exists() {
		res.Finish = e.Event.WithJSON(agui.DeleteKey(e.Event.JSON, "outcome"))
	}
	return res, nil
}

// waits reports whether a call of this run has no result. Either the client must run the call, or
// the run is not complete.
func (run *run) waits() bool {
	return run.r.Transcript != nil && slices.ContainsFunc(run.r.Transcript.Calls(), func(c agui.Call) bool { return c.StreamedInRun && !c.Answered })
}

// hasUnsentMessages reports whether the client sent new messages together with its answer that the
// backend has not got yet.
func (run *run) hasUnsentMessages() bool {
	return run.answer != nil && slices.ContainsFunc(run.r.NewMessages, isSpoken)
}

// endWell returns the result of a run that ended without an error or a question. If new messages
// are still unsent, the result's Next is an exchange that sends them.
func (run *run) endWell(res translate.Result) translate.Result {
	r := run.r
	if !run.hasUnsentMessages() {
		return res
	}
	var known []agui.Message // nil if the backend stores the conversation
	if !r.Sessions {
		var ok bool
		if known, ok = kit.KnownMessages(r); !ok {
			// The backend's reply is unknown. Without it, these messages would directly follow the
			// answer.
			return run.reportUnsentMessages(res)
		}
		if !slices.ContainsFunc(known, func(m agui.Message) bool { return m.ID == run.answer.ID }) {
			known = append(known, *run.answer)
		}
		known, _ = run.d.history(known, r.EndedPauses)
	}
	out := translate.Out{Body: kit.WithoutAnswers(r.Input, append(slices.Clone(known), r.NewMessages...)), TakesNew: true}
	res.Next = &translate.Exchange{Out: out, Run: run.d.plainRun(r.Plain())}
	return res
}

// reportUnsentMessages reports to the client that the new messages beside the answer were not sent.
// The client's next run contains them in its history.
func (run *run) reportUnsentMessages(res translate.Result) translate.Result {
	if run.hasUnsentMessages() {
		finish := res.Finish.Clone()
		res.Finish = finish.WithJSON(agui.SetString(finish.JSON, "metadata.holdpoint.code", string(agui.MessagesNotTaken)))
	}
	return res
}

// earlierIDs returns the set of ids of the messages that existed before this run.
func (run *run) earlierIDs() map[string]bool {
	ids := map[string]bool{}
	for _, m := range run.r.ClientMessages {
		ids[m.ID] = true
	}
	for _, m := range gjson.ParseBytes(run.r.Pause.Messages).Array() {
		ids[m.Get("id").Str] = true
	}
	for _, s := range run.r.Pause.SeenMessages {
		ids[s.ID] = true
	}
	return ids
}

package phrases

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

var _ translate.Passer = (*run)(nil)

// A run translates one exchange. It reads the stream only at its end.
type run struct {
	d            *Dialect
	r            *translate.Request
	answer       *agui.Message // on a resume: the message with the answer
	snapshotSent bool          // the client has the answer
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

// snapshot returns the client's history with the answer, if all of it is known. A client deletes
// the messages that a snapshot leaves out.
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
			return agui.Event{}, false // of two messages with one id a client keeps only one
		}
		ids[m.ID] = true
	}
	return agui.NewEvent(agui.MustMarshal(struct {
		Type     agui.Type       `json:"type"`
		Messages json.RawMessage `json:"messages"`
	}{agui.MessagesSnapshot, agui.MessageList(list)})), true
}

// End implements translate.Run. With ShowNative it does not ask, because the client's user answers
// in words.
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

// waits reports whether a call of this run has no result. Then the client answers it, or the run is
// not complete.
func (run *run) waits() bool {
	return run.r.Transcript != nil && slices.ContainsFunc(run.r.Transcript.Calls(), func(c agui.Call) bool { return c.StreamedInRun && !c.Answered })
}

// hasUnsentMessages reports whether the request has other new messages that still have to be sent.
func (run *run) hasUnsentMessages() bool {
	return run.answer != nil && slices.ContainsFunc(run.r.NewMessages, isSpoken)
}

// endWell returns the result of a run that ended well. If the request has other new messages, the
// result has another exchange for them.
func (run *run) endWell(res translate.Result) translate.Result {
	r := run.r
	if !run.hasUnsentMessages() {
		return res
	}
	var known []agui.Message // nil if the backend stores the conversation
	if !r.Sessions {
		var ok bool
		if known, ok = kit.KnownMessages(r); !ok {
			return run.reportUnsentMessages(res) // the backend's reply is unknown, so these messages would directly follow the answer
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

// reportUnsentMessages reports to the client that the other new messages were not sent. They are in
// the history of the next run.
func (run *run) reportUnsentMessages(res translate.Result) translate.Result {
	if run.hasUnsentMessages() {
		finish := res.Finish.Clone()
		res.Finish = finish.WithJSON(agui.SetString(finish.JSON, "metadata.holdpoint.code", string(agui.MessagesNotTaken)))
	}
	return res
}

// earlierIDs returns the ids of the messages that existed before this run.
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

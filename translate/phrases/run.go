package phrases

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// A run translates one exchange. Nothing is looked at before its end.
type run struct {
	d      *Dialect
	r      translate.Request
	answer *agui.Message // on a resume, what the answer became; nil once it was told
}

// Event implements translate.Run.
func (run *run) Event(ev agui.Event, emit func(agui.Event)) error {
	emit(ev)
	if ev.Type == agui.RunStarted && run.answer != nil {
		if snapshot, ok := run.snapshot(); ok {
			emit(snapshot)
		}
		run.answer = nil
	}
	return nil
}

// snapshot is the client's history with the answer in it, if all of it is known: what a snapshot leaves out, a client forgets.
func (run *run) snapshot() (agui.Event, bool) {
	if run.r.Show == translate.ShowNative {
		return agui.Event{}, false
	}
	known, ok := translate.KnownMessages(run.r)
	if !ok {
		return agui.Event{}, false
	}
	list := behind(known, *run.answer, run.r.New)
	ids := make(map[string]bool, len(list))
	for _, m := range list {
		if m.ID == "" || ids[m.ID] {
			return agui.Event{}, false // of two with one id a client keeps one
		}
		ids[m.ID] = true
	}
	return agui.NewEvent(agui.MustMarshal(struct {
		Type     agui.Type       `json:"type"`
		Messages json.RawMessage `json:"messages"`
	}{agui.MessagesSnapshot, agui.MessageList(list)})), true
}

// End implements translate.Run.
func (run *run) End(e translate.End) (translate.Result, error) {
	res := translate.Result{Finish: e.Event}
	if e.Event.Type != agui.RunFinished || !plainEnd(e.Event) || run.r.Show == translate.ShowNative {
		return res, nil // a client that is shown the backend's own form answers it in words
	}
	asked := run.d.lastText(run.r.Transcript)
	if asked == nil {
		return res, nil
	}
	messages, calls := run.before()
	if messages[asked.id] || slices.ContainsFunc(run.r.Transcript.Calls(), func(c agui.Call) bool { return !c.Answered && !calls[c.ID] }) {
		return res, nil
	}
	res.Pause = agui.Pause{Dialect: Name, Interrupts: []agui.Interrupt{asked.interrupt()}}
	if e.Event.Get("outcome").Exists() {
		res.Finish = e.Event.With(agui.DeleteKey(e.Event.JSON, "outcome"))
	}
	return res, nil
}

// before are the ids of the messages and the calls that were there before this run.
func (run *run) before() (messages, calls map[string]bool) {
	messages, calls = map[string]bool{}, map[string]bool{}
	note := func(m gjson.Result) {
		messages[m.Get("id").Str] = true
		for _, c := range m.Get("toolCalls").Array() {
			calls[c.Get("id").Str] = true
		}
	}
	for _, m := range run.r.Came {
		note(gjson.ParseBytes(m.JSON))
	}
	for _, m := range gjson.ParseBytes(run.r.Pause.Messages).Array() {
		note(m)
	}
	for _, s := range run.r.Pause.Seen {
		messages[s.ID] = true
	}
	return messages, calls
}

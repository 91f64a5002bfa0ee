package standard

import (
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// announcedPause returns the result of a run that asks without an outcome. Such a run asks by
// CUSTOM on_interrupt events, or by calls (calls.go). If the run asks nothing, the result has no
// questions.
//
// CrewAI announces its question by such an event by default (ag-ui-crewai 0.3.0 to 1.0.0, _hitl.py
// build_interrupt_tail). The value of the event is the interrupt that an outcome would have. CrewAI
// keeps only one question of a flow, so the last announcement counts. Mastra announces each call
// that suspends (suspended.go).
func (run *run) announcedPause(finish agui.Event, held []agui.Event) translate.Result {
	var list []agui.Interrupt
	backend := ""
	for _, h := range held {
		switch value := h.Get("value"); kit.Announced(h) {
		case kit.CrewAI:
			one, of := question(value)
			list, backend = []agui.Interrupt{one}, of
		case kit.Mastra:
			if one, ok := run.suspends.question(kit.ParseText(value)); ok {
				list, backend = withLatest(list, one), mastra
			}
		}
	}
	if len(list) == 0 { // otherwise a call without a result is an announced call
		for _, c := range run.calls.askingCalls() {
			list, backend = append(list, run.suspends.approval(c)), mastra
		}
	}
	if len(list) == 0 {
		return translate.Result{}
	}
	return translate.Result{
		Finish: kit.WithoutOutcome(finish), Backend: backend,
		Asked: translate.AskedPause{Interrupts: list, NativeFinish: slices.Clone(finish.JSON)},
	}
}

// withLatest returns the list with the question one added. If the list already has a question with
// the same id, one replaces it.
func withLatest(list []agui.Interrupt, one agui.Interrupt) []agui.Interrupt {
	at := slices.IndexFunc(list, func(i agui.Interrupt) bool { return i.Native == one.Native })
	if at < 0 {
		return append(list, one)
	}
	list[at] = one
	return list
}

// shownAnnouncement returns an announcement as the client is shown it. Holdpoint adds the id of the
// question to an announcement of Mastra. The client sends the announcement back with its answer (an
// echo). If there are two questions about one call, only this id shows which question is answered.
// proxy replaces the id by the published id.
func (s *suspendedRuns) shownAnnouncement(announcement agui.Event, show translate.Show) []byte {
	value := announcement.Get("value")
	event := kit.ParseText(value)
	if kit.Announced(announcement) != kit.Mastra || !event.IsObject() {
		return announcement.JSON
	}
	at, ok := s.subjectOf(event)
	if !ok {
		return announcement.JSON
	}
	raw := []byte(event.Raw)
	if at.Run != event.Get("runId").Str {
		raw = agui.SetString(raw, "runId", at.Run)
	}
	// Mastra itself sends no id in this event. If the event has an id, another Holdpoint between
	// this one and Mastra wrote it. That id is then the native id, and stays.
	if show != translate.ShowNative && !event.Get("id").Exists() {
		raw = agui.SetString(raw, "id", at.native())
	}
	if value.Type == gjson.String {
		raw = agui.AppendString(nil, string(raw))
	}
	return agui.SetKey(slices.Clone(announcement.JSON), "value", raw)
}

package standard

import (
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// announcedPause returns the end of a run that asks without an outcome: by CUSTOM on_interrupt, or
// by calls (calls.go). The result has no questions if the run asks nothing.
//
// CrewAI announces in this way by default (ag-ui-crewai 0.3.0 to 1.0.0, _hitl.py
// build_interrupt_tail). The value is the interrupt that its outcome would have. It keeps one
// question of a flow, so the last announcement counts. Mastra announces each call that suspends
// (suspended.go).
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
	if len(list) == 0 { // otherwise a call without a result is one that was announced
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

// withLatest returns the list with one more question, which replaces an earlier question with its
// id.
func withLatest(list []agui.Interrupt, one agui.Interrupt) []agui.Interrupt {
	at := slices.IndexFunc(list, func(i agui.Interrupt) bool { return i.Native == one.Native })
	if at < 0 {
		return append(list, one)
	}
	list[at] = one
	return list
}

// shownAnnouncement returns an announcement as the client is shown it. The id of the question is
// added to an announcement of Mastra's. A client echoes the announcement with its answer, and of
// two questions about one call only this id tells which is answered. proxy replaces it by the
// published id.
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
	// Mastra writes no id here. If there is one, another Holdpoint behind this one wrote it. It is
	// then the native id, and stays.
	if show != translate.ShowNative && !event.Get("id").Exists() {
		raw = agui.SetString(raw, "id", at.native())
	}
	if value.Type == gjson.String {
		raw = agui.AppendString(nil, string(raw))
	}
	return agui.SetKey(slices.Clone(announcement.JSON), "value", raw)
}

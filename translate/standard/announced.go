package standard

import (
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// announcedAlone is the end of a run that asks by CUSTOM on_interrupt only.
//
// CrewAI does so by default (ag-ui-crewai 0.3.0 to 1.0.0, _hitl.py build_interrupt_tail): the value
// is the interrupt that its outcome would have. It keeps one question of a flow, so the last
// announcement counts.
func announcedAlone(finish agui.Event, held []agui.Event) (translate.Result, bool) {
	for n := len(held) - 1; n >= 0; n-- {
		if kit.Announced(held[n]) == kit.CrewAI {
			one, backend := question(held[n].Get("value"))
			return translate.Result{
				Finish: kit.WithoutOutcome(finish), Backend: backend,
				Asked: translate.Asked{Interrupts: []agui.Interrupt{one}, OwnFinish: slices.Clone(finish.JSON)},
			}, true
		}
	}
	return translate.Result{}, false
}

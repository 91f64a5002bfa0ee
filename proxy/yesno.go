package proxy

import (
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/translate/yesno"
)

// Some agents ask with any value and take any value for the answer, such as a LangGraph graph by
// interrupt(). What a yes and a no are there, the operator says (Options.Answers). Then the
// question is asked for a yes or a no, and the dialect is handed the agent's own values.

// readYesNo reads answers in the agent's own values as the yes or the no that they are.
func readYesNo(p *agui.Pause, answers []agui.Answer) {
	for n, a := range answers {
		if i := p.Interrupt(a.ID); i != nil {
			answers[n] = yesno.ReadAnswer(i, a)
		}
	}
}

// withYesNo returns the answers with the agent's own values. If the agent is only to end what
// waits, it gets none.
func withYesNo(p *agui.Pause, answers []agui.Answer, endOnly bool) ([]agui.Answer, error) {
	if p == nil || endOnly || !slices.ContainsFunc(p.Interrupts, func(i agui.Interrupt) bool { return i.YesNo != nil }) {
		return answers, nil
	}
	list := make([]agui.Answer, len(answers))
	for n, a := range answers {
		var err error
		if list[n], err = yesno.WriteAnswer(&p.Interrupts[n], a); err != nil {
			return nil, err
		}
	}
	return list, nil
}

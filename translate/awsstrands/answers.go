package awsstrands

import (
	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// Answers implements translate.Dialect. It reads the entries of the resume array. It also reads
// command.resume, for clients that support only the CUSTOM event. The schema that the dialect adds
// to a question offers only a yes and a no. A hook may accept other answers too. So Answers marks
// them as answers in the backend's own form, which the schema does not judge, and Begin checks
// them.
func (d *Dialect) Answers(in agui.RunInput, p agui.Pause) ([]agui.Answer, error) {
	list, err := kit.Answers(in, p)
	for n, a := range list {
		i := p.Interrupt(a.ID)
		if i == nil {
			continue
		}
		if kept := privateOf(*i); kept.Supplied {
			rule, _ := d.rules.Answer(kept.Name)
			list[n].OwnForm = inOwnForm(a) || rule.TakesEdits() && bringsEdits(a.Payload)
		}
	}
	return kit.CancelsLost(p, list), err
}

// inOwnForm reports whether the answer is in another form than the dialect's schema: it has a
// payload that is not an object with approved.
func inOwnForm(a agui.Answer) bool {
	return a.Payload != nil && len(kit.Members(gjson.ParseBytes(a.Payload), "approved")) == 0
}

// Interpret implements translate.Interpreter. It finds out whether an answer means yes or no by the
// words that the rules define.
func (d *Dialect) Interpret(p agui.Pause, answers []agui.Answer, read []agui.Reading) {
	d.rules.Interpret(p, answers, read, func(i agui.Interrupt) string { return privateOf(i).Name })
}

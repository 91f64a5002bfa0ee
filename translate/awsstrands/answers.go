package awsstrands

import (
	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// Answers implements translate.Dialect. It reads the entries of resume, and command.resume of
// clients that know the CUSTOM form only. A schema of ours offers a yes and a no. A hook may take
// other answers too, and Begin judges those.
func (d *Dialect) Answers(in agui.RunInput, p agui.Pause) ([]agui.Answer, error) {
	list, err := kit.Answers(in, p)
	for n, a := range list {
		i := p.Interrupt(a.ID)
		if i == nil {
			continue
		}
		if kept := privateOf(*i); kept.Supplied {
			rule, _ := d.rules.Answer(kept.Name)
			list[n].Own = inOwnForm(a) || rule.TakesEdits() && bringsEdits(a.Payload)
		}
	}
	return kit.CancelsLost(p, list), err
}

// inOwnForm reports whether an answer has another form than our schema asks for. It has if there is
// a payload, and that is not an object that decides.
func inOwnForm(a agui.Answer) bool {
	return a.Payload != nil && len(kit.Members(gjson.ParseBytes(a.Payload), "approved")) == 0
}

// Interpret implements translate.Interpreter, with the words of the rules.
func (d *Dialect) Interpret(p agui.Pause, answers []agui.Answer, read []agui.Reading) {
	asked := p.Indexed()
	for n, a := range answers {
		if i := asked.Interrupt(a.ID); i != nil && read[n].Says == agui.Unclear {
			rule, _ := d.rules.Answer(privateOf(*i).Name)
			read[n] = rule.Read(a, read[n])
		}
	}
}

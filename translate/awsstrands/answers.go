package awsstrands

import (
	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// Answers implements translate.Dialect: the entries of resume, and command.resume of clients that
// know the CUSTOM form only. A schema that is ours offers a yes and a no; what else a hook takes is
// its own matter, and Begin judges it.
func (*Dialect) Answers(in agui.RunInput, p agui.Pause) ([]agui.Answer, error) {
	list, err := kit.Answers(in, p)
	for n, a := range list {
		if i := p.Interrupt(a.ID); i != nil && privateOf(*i).Supplied {
			list[n].Own = inOwnForm(a)
		}
	}
	return list, err
}

// inOwnForm says whether an answer is not of the form that our schema has: anything but an object
// that decides, and nothing.
func inOwnForm(a agui.Answer) bool {
	return a.Payload != nil && len(kit.Members(gjson.ParseBytes(a.Payload), "approved")) == 0
}

package proxy

import (
	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// messagesBesideAnswers are the messages that came beside the answers of a resume, or that the
// backend left aside since it waited already. Those that an exchange takes to the backend leave the
// list. The rest does not count as known: it comes again as new input.
type messagesBesideAnswers []agui.Message

// takenBy leaves those that an exchange does not take.
func (b *messagesBesideAnswers) takenBy(out *translate.Out) {
	if out.TakesNew && len(*b) > 0 {
		*b = out.Left
	}
}

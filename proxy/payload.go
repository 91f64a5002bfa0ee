package proxy

import (
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
)

// dropRepeatedAnswers takes out of the input of a resume the messages that repeat its answers.
func dropRepeatedAnswers(in *agui.RunInput, p *agui.Pause) {
	repeats := contract.RepeatsOf(p, in.Resume)
	drop(in, func(m *agui.Message) bool { return repeats.Has(*m) })
}

// dropLeftovers takes out of the input of a later run, where a call has several tool messages, the one that only repeats an
// answer.
func dropLeftovers(in *agui.RunInput) {
	results := map[string]int{}
	several := false
	for n := range in.Messages {
		if m := &in.Messages[n]; m.Role == "tool" && m.ToolCallID != "" {
			results[m.ToolCallID]++
			several = several || results[m.ToolCallID] > 1
		}
	}
	if !several {
		return
	}
	drop(in, func(m *agui.Message) bool {
		if m.Role != "tool" || results[m.ToolCallID] < 2 || !contract.LooksLikeAnswer(gjson.GetBytes(m.JSON, "content")) {
			return false
		}
		results[m.ToolCallID]--
		return true
	})
}

// drop takes some messages out of the input, which stays untouched if it has none of them. goes is asked once of each.
func drop(in *agui.RunInput, goes func(*agui.Message) bool) {
	var kept []agui.Message
	dropped := false
	for n := range in.Messages {
		m := &in.Messages[n]
		switch {
		case !goes(m):
			if dropped {
				kept = append(kept, *m)
			}
		case !dropped:
			kept, dropped = slices.Clone(in.Messages[:n]), true
		}
	}
	if dropped {
		*in = in.WithMessages(kept)
	}
}

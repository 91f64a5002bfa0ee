package aguiserver

import (
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// readable returns the messages as the host and a strict provider behind it take them.
//
//   - A message of reasoning or of an activity goes. The host answers 500 to a history with one
//     (RAN 0.0.3 to after 0.0.5). A client gets them by a snapshot that Holdpoint makes.
//   - A result moves behind its call.
//   - A tool message on a call of unanswered goes. The host takes the call for answered, whatever
//     the message says, and runs nothing. Clients make such messages up: AGUI.Client does after an
//     answer that was refused. The host goes by the id alone, so the result of an earlier call of
//     that id goes too.
//   - A message goes that had calls, all of which were taken out (translate.Continuer).
//
// came are the messages as the client sent them.
func readable(in agui.RunInput, came []agui.Message, unanswered map[string]bool) agui.RunInput {
	list := withoutEmptied(in.Messages, came)
	list = kit.ResultsAfterCalls(kit.WithoutRoles(kit.WithoutResultsOf(list, unanswered), "reasoning", "activity"))
	if len(list) == len(in.Messages) && slices.EqualFunc(list, in.Messages, func(a, b agui.Message) bool { return &a.JSON[0] == &b.JSON[0] }) {
		return in
	}
	return in.WithMessages(list)
}

// withoutEmptied returns the messages without those that say nothing and had calls when they came.
func withoutEmptied(list, came []agui.Message) []agui.Message {
	isEmpty := func(m agui.Message) bool {
		content := agui.View(m.JSON).Get("content")
		return m.Role == "assistant" && m.ID != "" && content.Type == gjson.String && content.Str == "" && !holdsCalls(m)
	}
	if !slices.ContainsFunc(list, isEmpty) {
		return list
	}
	had := map[string]bool{}
	for _, m := range came {
		if holdsCalls(m) {
			had[m.ID] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(list), func(m agui.Message) bool { return isEmpty(m) && had[m.ID] })
}

func holdsCalls(m agui.Message) bool { return !m.Plain && len(kit.Calls(agui.View(m.JSON))) > 0 }

package aguiserver

import (
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// readableHistory returns the input with messages that the host, and a strict provider that the
// host calls, accept:
//
//   - Messages of reasoning and activities are left out. The host answers 500 to a history with
//     one (RAN 0.0.3 to after 0.0.5). A client may have them from a snapshot of Holdpoint.
//   - A result directly follows its call.
//   - Tool messages for the calls in unanswered are left out. Otherwise the host would treat the
//     call as answered, whatever the message says, and run nothing. Some clients make up such
//     messages: AGUI.Client does so after a refused answer. The host compares only ids, so the
//     result of an earlier call with the same id is left out too.
//   - A message is left out if all its calls were removed (translate.Continuer).
//
// The parameter received has the messages as the client sent them.
func readableHistory(in agui.RunInput, received []agui.Message, unanswered map[string]bool) agui.RunInput {
	list := withoutEmptied(in.Messages, received)
	list = kit.ResultsAfterCalls(kit.WithoutRoles(kit.WithoutResultsOf(list, unanswered), "reasoning", "activity"))
	if len(list) == len(in.Messages) && slices.EqualFunc(list, in.Messages, func(a, b agui.Message) bool { return &a.JSON[0] == &b.JSON[0] }) {
		return in
	}
	return in.WithMessages(list)
}

// withoutEmptied returns list without the messages that are empty now, but had calls in received.
func withoutEmptied(list, received []agui.Message) []agui.Message {
	isEmpty := func(m agui.Message) bool {
		content := agui.View(m.JSON).Get("content")
		return m.Role == "assistant" && m.ID != "" && content.Type == gjson.String && content.Str == "" && !holdsCalls(m)
	}
	if !slices.ContainsFunc(list, isEmpty) {
		return list
	}
	had := map[string]bool{}
	for _, m := range received {
		if holdsCalls(m) {
			had[m.ID] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(list), func(m agui.Message) bool { return isEmpty(m) && had[m.ID] })
}

func holdsCalls(m agui.Message) bool { return !m.Plain && len(kit.Calls(agui.View(m.JSON))) > 0 }

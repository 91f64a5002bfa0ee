package kit

import (
	"slices"

	"holdpoint/internal/agui"
)

// Loose returns what can be read of a JSON object that is not a run: its messages and the names of
// its tools. Messages may stand in several lists: of two one backend reads the first, another the
// last.
func Loose(object []byte) agui.RunInput {
	root, in := agui.View(object), agui.RunInput{Raw: object}
	for _, list := range Members(root, "messages") {
		for _, m := range list.Array() {
			in.Messages = append(in.Messages, agui.ParseMessage([]byte(m.Raw)))
		}
	}
	for _, t := range first(root, "tools").Array() {
		in.Tools = append(in.Tools, first(t, "name").Str)
	}
	slices.Sort(in.Tools)
	return in
}

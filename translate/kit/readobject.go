package kit

import (
	"slices"

	"holdpoint/internal/agui"
)

// ReadObject reads the messages and the names of the tools in a JSON object that is not a complete
// run. If messages is repeated, it reads all of them, because one backend reads the first and
// another the last.
func ReadObject(object []byte) agui.RunInput {
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

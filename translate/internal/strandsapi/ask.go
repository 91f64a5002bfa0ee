package strandsapi

import (
	"cmp"
	"fmt"
	"strings"

	"holdpoint/translate/kit"

	"github.com/tidwall/gjson"
)

// Reason returns the reason of an interrupt. It is tool_call if a hook asks before a call that the
// client has seen. For any other interrupt it is "strands:" followed by the interrupt's name.
func Reason(id ID, name, toolCallID string) string {
	switch {
	case id.AsksForCall() && toolCallID != "":
		return "tool_call"
	case name == "":
		return "strands:interrupt"
	case strings.HasPrefix(name, "strands:"): // Strands' own interrupts already have the prefix
		return name
	}
	return "strands:" + name
}

// Message returns the question that the person reads. It is the backend's reason if that is a text,
// or a text in the reason under a usual key. Otherwise it is a sentence with the name of the tool
// that would be called, or with the name of the interrupt. It is never JSON.
func Message(reason gjson.Result, tool, name string) string {
	said := cmp.Or(reason.Str, kit.FirstText(reason, "message", "question", "prompt"))
	switch {
	case said != "":
		return said
	case tool != "":
		return fmt.Sprintf(askCall, tool)
	case name != "":
		return fmt.Sprintf(askAnswerTo, name)
	}
	return askAnswer
}

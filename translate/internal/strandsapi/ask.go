package strandsapi

import (
	"fmt"
	"strings"

	"github.com/tidwall/gjson"
)

// Reason is the reason of an interrupt with a name: tool_call for a hook before a call that the
// client has seen, the name with the framework's in front for anything else.
func Reason(id ID, name, toolCallID string) string {
	switch {
	case id.AsksForCall() && toolCallID != "":
		return "tool_call"
	case name == "":
		return "strands:interrupt"
	case strings.HasPrefix(name, "strands:"): // the vended ones have it
		return name
	}
	return "strands:" + name
}

// Message is what a person is asked: the native reason if it is text or has it under a usual key,
// else a sentence with the tool's name, if a tool is to be called, or with the interrupt's. Never
// JSON.
func Message(reason gjson.Result, tool, name string) string {
	if reason.Type == gjson.String && reason.Str != "" {
		return reason.Str
	}
	if reason.IsObject() {
		for _, key := range []string{"message", "question", "prompt"} {
			if v := reason.Get(key); v.Type == gjson.String && v.Str != "" {
				return v.Str
			}
		}
	}
	switch {
	case tool != "":
		return fmt.Sprintf("Approve call to %s?", tool)
	case name != "":
		return fmt.Sprintf("The agent waits for an answer to %q.", name)
	}
	return "The agent waits for an answer."
}

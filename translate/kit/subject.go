package kit

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/translate"
)

var (
	// nameKeys are the keys under which a question usually has the name of its action or tool.
	// argumentKeys are the keys for its arguments. The first key of each list that exists is used.
	nameKeys     = []string{"action", "tool", "tool_name", "toolName", "name", "function"}
	argumentKeys = []string{"args", "arguments", "tool_input", "input", "parameters", "params"}
	// restKeys are keys whose values are not arguments: texts for the person, and members that
	// AG-UI defines.
	restKeys = []string{
		"message", "question", "prompt", "description", "title", "text", "reason", "type", "id", "toolCallId", "tool_call_id",
		"expiresAt", "expires_at", "responseSchema", "response_schema",
	}
)

// SubjectOf returns the action that a question of an agent is about. value is the value that the
// agent sent with the question. If value has no key of argumentKeys, the arguments are all its
// members except the name and those of restKeys.
func SubjectOf(value gjson.Result) translate.Subject {
	if !value.IsObject() {
		return translate.Subject{}
	}
	about, named := translate.Subject{}, ""
	for _, key := range nameKeys {
		if name := value.Get(key); name.Type == gjson.String && name.Str != "" {
			about.Name, named = strings.Clone(name.Str), key
			break
		}
	}
	for _, key := range argumentKeys {
		if arguments := value.Get(key); arguments.IsObject() {
			about.Arguments = json.RawMessage(arguments.Raw)
			return about
		}
	}
	rest := MapMembers(value, func(k, v gjson.Result) string {
		if k.Str == named || slices.Contains(restKeys, k.Str) {
			return ""
		}
		return v.Raw
	})
	if len(rest) > len("{}") {
		about.Arguments = rest
	}
	return about
}

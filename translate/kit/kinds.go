package kit

import (
	"fmt"
	"strings"
)

// A ToolKind is what an unanswered call of a tool asks a person for.
type ToolKind string

// ToolApproval: a yes or a no. ToolInput: arguments that a person may fill in. ToolExternal: the
// result of a tool that the backend does not run itself.
const (
	ToolApproval ToolKind = "approval"
	ToolInput    ToolKind = "input"
	ToolExternal ToolKind = "external"
)

// ToolKinds are patterns of tool names with a kind for each. They are an option of dialects, in the
// form name=kind;name=kind.
type ToolKinds struct {
	text string
	of   map[ToolKind]Names
}

// UnmarshalText reads the value of a variable.
func (k *ToolKinds) UnmarshalText(text []byte) error {
	read := ToolKinds{text: string(text), of: map[ToolKind]Names{}}
	kinds := map[string]ToolKind{}
	for one := range strings.SplitSeq(read.text, ";") {
		if one = strings.TrimSpace(one); one == "" {
			continue
		}
		at := strings.LastIndex(one, "=")
		if at < 1 {
			return fmt.Errorf(textNoKind, one, one, one, one)
		}
		name, kind := strings.TrimSpace(one[:at]), ToolKind(strings.TrimSpace(one[at+1:]))
		switch kind {
		case ToolApproval, ToolInput, ToolExternal:
		default:
			return fmt.Errorf(textNotKind, string(kind))
		}
		if before := kinds[name]; before != "" && before != kind {
			return fmt.Errorf(textTwoKinds, name, before, kind)
		}
		kinds[name] = kind
		read.of[kind] = append(read.of[kind], name)
		if err := read.of[kind].Check(); err != nil {
			return err
		}
	}
	*k = read
	return nil
}

// String returns the value as it was configured.
func (k ToolKinds) String() string { return k.text }

// Of returns the names of a kind.
func (k ToolKinds) Of(kind ToolKind) Names { return k.of[kind] }

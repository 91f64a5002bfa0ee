package kit

import (
	"fmt"
	"strings"
)

// A ToolKind says what a person must give if a tool's call has no result.
type ToolKind string

// ToolApproval asks for a yes or a no. ToolInput asks for arguments that a person may fill in.
// ToolExternal asks for the result of a tool that the backend does not run itself.
const (
	ToolApproval ToolKind = "approval"
	ToolInput    ToolKind = "input"
	ToolExternal ToolKind = "external"
)

// ToolKinds maps patterns of tool names to kinds. It is an option of dialects. Its text has the
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

// Of returns the patterns of tool names that have this kind.
func (k ToolKinds) Of(kind ToolKind) Names { return k.of[kind] }

package strandsapi

import "strings"

// An ID is what the id of a Strands interrupt says. The SDKs make the id from the source of the
// interrupt (Python hooks/events.py and types/tools.py, TypeScript hooks/events.ts and
// middleware/interrupt.ts). Python now documents the id as opaque, so compare a parsed ID with what
// the stream has shown.
type ID struct {
	Python bool
	Kind   Kind
	// ToolUseID is the id of the call that the interrupt is about, or "". If an agent is used as a
	// tool, versions up to 1.40 use the id of an inner call, which the client has not seen. Later
	// versions use the id of the outer call, and Nested is true.
	ToolUseID string
	Nested    bool
	Name      string // the interrupt's name; "" in Python, whose ids have only a hash of it
}

// A Kind is the source of an interrupt.
type Kind int

// The sources of interrupts:
//
//   - BeforeCall is a hook before one tool call.
//   - FromTool is a tool while it runs.
//   - BeforeCalls is a hook before all calls of a turn.
//   - BeforeNode is a hook before a node of a graph or a swarm.
//   - Other is middleware, or a hook before a model call.
//
// An id that contains no call is the same in every thread and every turn.
const (
	Other Kind = iota
	BeforeCall
	FromTool
	BeforeCalls
	BeforeNode
)

// AsksForCall reports whether the interrupt asks before a call runs, and not while the call runs.
func (id ID) AsksForCall() bool { return id.Kind == BeforeCall && !id.Nested }

// ParseID parses the id of an interrupt. It returns false for an id that the SDKs of Strands do not
// make.
func ParseID(id string) (ID, bool) {
	if rest, ok := strings.CutPrefix(id, "v1:"); ok {
		return parsePython(rest)
	}
	return parseTypeScript(id)
}

// parsePython parses <source>:<object>:<uuid5 of the name>. The object may be a toolUseId that
// contains a colon.
func parsePython(rest string) (ID, bool) {
	if outer, inner, ok := strings.Cut(rest, ":v1:"); ok {
		return parseNested(outer, inner)
	}
	last := strings.LastIndexByte(rest, ':')
	if last < 0 || !isUUID5(rest[last+1:]) {
		return ID{}, false
	}
	what, of, has := strings.Cut(rest[:last], ":")
	one := ID{Python: true}
	switch what {
	case "before_tool_call":
		one.Kind, one.ToolUseID = BeforeCall, of
		return one, of != ""
	case "tool_call":
		one.Kind, one.ToolUseID = FromTool, of
		return one, of != ""
	case "before_tools":
		one.Kind = BeforeCalls
		return one, !has
	case "before_node_call":
		one.Kind = BeforeNode
		return one, isUUID5(of)
	case "middleware_execute_tool":
		one.ToolUseID = of
		return one, of != ""
	}
	return one, strings.HasPrefix(what, "before_") || strings.HasPrefix(what, "middleware_")
}

// parseNested parses agent_as_tool:<outer toolUseId>:<id of the inner interrupt> (strands-agents
// 1.62).
func parseNested(outer, inner string) (ID, bool) {
	call, ok := strings.CutPrefix(outer, "agent_as_tool:")
	one, known := parsePython(inner)
	one.ToolUseID, one.Nested = call, true
	return one, ok && known && call != ""
}

// parseTypeScript parses <source>:<kind>:<object>:<name>. The name is not escaped, so it may
// contain colons.
func parseTypeScript(id string) (ID, bool) {
	source, rest, _ := strings.Cut(id, ":")
	one := ID{Name: rest}
	if source != "tool" {
		source, one.Name = cutInto(source, rest)
	}
	switch source {
	case "tool", "hook:beforeToolCall":
		one.Kind = BeforeCall
		if source == "tool" {
			one.Kind = FromTool
		}
		one.ToolUseID, one.Name, _ = strings.Cut(one.Name, ":")
		return one, one.ToolUseID != "" && one.Name != ""
	case "hook:beforeTools":
		one.Kind = BeforeCalls
	case "multiagent-hook:beforeNodeCall":
		one.Kind = BeforeNode
		node, name, _ := strings.Cut(one.Name, ":")
		one.Name = name
		return one, node != "" && name != ""
	case "middleware:executeTool":
		one.ToolUseID, one.Name, _ = strings.Cut(one.Name, ":")
		return one, one.ToolUseID != "" && one.Name != ""
	case "middleware:agentStream", "hook:beforeModelCall":
	default:
		return ID{}, false
	}
	return one, one.Name != ""
}

// cutInto moves the first word of rest to the end of source.
func cutInto(source, rest string) (longer, shorter string) {
	word, rest, _ := strings.Cut(rest, ":")
	return source + ":" + word, rest
}

// isUUID5 reports whether s is a name-based UUID as Python's uuid5 writes it.
func isUUID5(s string) bool {
	if len(s) != 36 || s[14] != '5' || s[19] < '8' || s[19] > '9' && s[19] != 'a' && s[19] != 'b' {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch dash := i == 8 || i == 13 || i == 18 || i == 23; {
		case dash != (c == '-'):
			return false
		case !dash && (c < '0' || c > '9') && (c < 'a' || c > 'f'):
			return false
		}
	}
	return true
}

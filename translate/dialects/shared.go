package dialects

import (
	"encoding/json"
	"reflect"

	"holdpoint/internal/variables"
	"holdpoint/translate/kit"
)

// Shared are the variables that several dialects read. A field of a dialect's options gets the
// value of one of them if it has the tag shared:
//
//	shared:"approval"  the names of the tools of this kind; also "input" and "external"
//	shared:"cancel"    Cancel, if the tag means allows it; otherwise the field keeps its zero value
type Shared struct {
	Tools  kit.ToolKinds `env:"TOOLS" doc:"what an unanswered call of a tool asks for, if the stream does not show it: name=kind;name=kind, with patterns of names. approval: a yes or a no (tool-call, draft). input: arguments that a person can fill in (agno). external: the tool's result (agno, and long-running tools of ADK). A call of a tool that the request declares is the client's own"`
	Cancel kit.JSON      `env:"CANCEL" doc:"JSON that a backend gets for a cancelled answer, if it has no cancel of its own: LangGraph's graphs, except in a tool review (false by default), and a v1 backend of the draft ({\"cancelled\":true} by default). No backend may read it as a yes. null is for graphs only"`
}

// shared has the variables that the dialects of one list share. A dialect that is in no list has
// the zero value.
type shared struct {
	prefix  string
	options *Shared
}

func newShared(prefix string) shared { return shared{prefix: prefix, options: &Shared{}} }

func (s *shared) group() variables.Group {
	return variables.Group{Prefix: s.prefix, Options: s.options}
}

// withShared makes s the shared variables of all dialects of the list, and returns the list.
func (s shared) withShared(l List) List {
	for n := range l {
		*l[n].shared = s
	}
	return l
}

// check returns an error if CANCEL is null, but the dialect that the parameter name names does not
// accept null. If the dialect is auto, it is not an error: a dialect that does not accept null then
// ignores CANCEL.
func (s *shared) check(l List, name string) []error {
	cancel := s.options.Cancel
	if !isNull(cancel) {
		return nil
	}
	for _, e := range l {
		if e.Name != name {
			continue
		}
		for f := range reflect.ValueOf(e.Options).Elem().Fields() {
			if f.Tag.Get("shared") == "cancel" && f.Tag.Get("means") == "no" {
				return []error{s.group().ErrorFor("CANCEL", cancel.DeniesOnly())}
			}
		}
	}
	return nil
}

// setOptions sets those fields of a dialect's options that have the tag shared. The parameter
// options points to the options.
func (s *shared) setOptions(options any) {
	for f, value := range reflect.ValueOf(options).Elem().Fields() {
		switch what := f.Tag.Get("shared"); what {
		case "":
		case "cancel":
			if cancel := s.options.Cancel; f.Tag.Get("means") == "no or null" || !isNull(cancel) {
				value.Set(reflect.ValueOf(cancel))
			}
		default:
			value.Set(reflect.ValueOf(s.options.Tools.Of(kit.ToolKind(what))))
		}
	}
}

func isNull(j kit.JSON) bool { return string(json.RawMessage(j)) == "null" }

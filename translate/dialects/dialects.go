// Package dialects lists the dialects that Holdpoint speaks. The list is explicit and ordered: it is the order in which
// auto asks them.
package dialects

import (
	"fmt"
	"slices"
	"strings"

	"holdpoint/translate"
	"holdpoint/translate/agentframework"
	"holdpoint/translate/agui"
	"holdpoint/translate/auto"
	"holdpoint/translate/draft"
	"holdpoint/translate/langgraph"
	"holdpoint/translate/requestapproval"
	"holdpoint/translate/strands"
)

// Options of all dialects. Warn, which may be nil, is told what an operator should know.
type Options struct {
	AgentFramework agentframework.Options
	LangGraph      langgraph.Options
	Draft          draft.Options
	Strands        strands.Options
	Warn           func(msg string, args ...any)
}

// entries are the dialects that auto asks, in order: agui last, for it takes every outcome.
func entries() []entry {
	return []entry{
		{agentframework.Name, func(o Options) (translate.Dialect, error) { return agentframework.New(o.AgentFramework) }},
		{langgraph.Name, func(o Options) (translate.Dialect, error) { return langgraph.New(o.LangGraph) }},
		{requestapproval.Name, func(Options) (translate.Dialect, error) { return requestapproval.New(), nil }},
		{draft.Name, func(o Options) (translate.Dialect, error) { return draft.New(o.Draft, o.Warn) }},
		{agui.Name, func(Options) (translate.Dialect, error) { return agui.New(), nil }},
	}
}

// foreign are the dialects of backends that do not speak AG-UI: they have to be named, for auto reads AG-UI only.
func foreign() []entry {
	return []entry{
		{strands.Name, func(o Options) (translate.Dialect, error) { return strands.New(o.Strands, o.Warn) }},
	}
}

type entry struct {
	name string
	make func(Options) (translate.Dialect, error)
}

// Names of the dialects for a reader: auto first, the others by the alphabet.
func Names() []string {
	names := []string{auto.Name}
	for _, e := range append(entries(), foreign()...) {
		names = append(names, e.name)
	}
	slices.Sort(names[1:])
	return names
}

// New makes a dialect by its name.
func New(name string, o Options) (translate.Dialect, error) {
	for _, e := range foreign() {
		if e.name == name {
			return e.make(o)
		}
	}
	var list []translate.Dialect
	for _, e := range entries() {
		one, err := e.make(o)
		switch {
		case err != nil:
			return nil, err
		case e.name == name:
			return one, nil
		}
		list = append(list, one)
	}
	if name == auto.Name {
		return auto.New(list, auto.Options{Warn: o.Warn}), nil
	}
	return nil, fmt.Errorf("dialects: no dialect %q, want one of %s", name, strings.Join(Names(), ", "))
}

// Package dialects lists the dialects that Holdpoint speaks. The list is explicit and ordered: it is the order in which
// auto asks them.
package dialects

import (
	"fmt"
	"slices"
	"strings"

	"holdpoint/translate"
	"holdpoint/translate/agentframework"
	"holdpoint/translate/auto"
	"holdpoint/translate/awsstrands"
	"holdpoint/translate/draft"
	"holdpoint/translate/langgraph"
	"holdpoint/translate/phrases"
	"holdpoint/translate/requestapproval"
	"holdpoint/translate/standard"
	"holdpoint/translate/strands"
	"holdpoint/translate/superagent"
)

// Options of all dialects. Warn, which may be nil, is told what an operator should know.
type Options struct {
	AgentFramework agentframework.Options
	LangGraph      langgraph.Options
	AWSStrands     awsstrands.Options
	Draft          draft.Options
	Phrases        phrases.Options
	Strands        strands.Options
	Superagent     superagent.Options
	Warn           func(msg string, args ...any)
}

// entries are all dialects, in the order in which auto asks: agui behind those that know the shape of an outcome, for it takes
// every one; phrases behind all, for it guesses, and only if it has any; those that do not speak AG-UI are always named.
func entries() []entry {
	return []entry{
		{agentframework.Name, func(o Options) (translate.Dialect, error) { return agentframework.New(o.AgentFramework) }},
		{langgraph.Name, func(o Options) (translate.Dialect, error) { return langgraph.New(o.LangGraph, o.Warn) }},
		{awsstrands.Name, func(o Options) (translate.Dialect, error) { return awsstrands.New(o.AWSStrands, o.Warn) }},
		{requestapproval.Name, func(Options) (translate.Dialect, error) { return requestapproval.New(), nil }},
		{draft.Name, func(o Options) (translate.Dialect, error) { return draft.New(o.Draft, o.Warn) }},
		{standard.Name, func(Options) (translate.Dialect, error) { return standard.New(), nil }},
		{phrases.Name, func(o Options) (translate.Dialect, error) { return phrases.New(o.Phrases) }},
		{strands.Name, func(o Options) (translate.Dialect, error) { return strands.New(o.Strands, o.Warn) }},
		{superagent.Name, func(o Options) (translate.Dialect, error) { return superagent.New(o.Superagent) }},
	}
}

type entry struct {
	name string
	make func(Options) (translate.Dialect, error)
}

// named says whether auto does not ask the dialect.
func (e entry) named(o Options) bool {
	return e.name == strands.Name || e.name == superagent.Name || e.name == phrases.Name && len(o.Phrases.Phrases) == 0
}

// Names of the dialects for a reader: auto first, the others by the alphabet.
func Names() []string {
	names := []string{auto.Name}
	for _, e := range entries() {
		names = append(names, e.name)
	}
	slices.Sort(names[1:])
	return names
}

// New makes a dialect by its name.
func New(name string, o Options) (translate.Dialect, error) {
	var list []translate.Dialect
	for _, e := range entries() {
		if e.name != name && e.named(o) {
			continue
		}
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

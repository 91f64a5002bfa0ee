// Package dialects lists all dialects of Holdpoint. The list is written by hand, because its order
// matters: the dialect auto asks the dialects in this order.
package dialects

import (
	"fmt"
	"slices"
	"strings"

	"holdpoint/internal/variables"
	"holdpoint/translate"
	"holdpoint/translate/adk"
	"holdpoint/translate/agentframework"
	"holdpoint/translate/agno"
	"holdpoint/translate/auto"
	"holdpoint/translate/awsstrands"
	"holdpoint/translate/draft"
	"holdpoint/translate/langgraph"
	"holdpoint/translate/langgraphserver"
	"holdpoint/translate/phrases"
	"holdpoint/translate/requestapproval"
	"holdpoint/translate/standard"
	"holdpoint/translate/strands"
	"holdpoint/translate/superagent"
	"holdpoint/translate/toolcall"
)

// All returns the dialects with their default options, in the order in which auto asks them. agui
// follows the dialects that recognize their backend by its outcome, because agui accepts every
// outcome. phrases follows all other dialects that auto asks, because it guesses.
func All() List {
	return newShared("HOLDPOINT_").withShared(List{
		entry(agentframework.Name, agentframework.New),
		entry(langgraph.Name, langgraph.New),
		entry(awsstrands.Name, awsstrands.New),
		entry(requestapproval.Name, requestapproval.New),
		entry(adk.Name, adk.New),
		entry(agno.Name, agno.New),
		entry(draft.Name, draft.New),
		entry(toolcall.Name, toolcall.New),
		entry(standard.Name, standard.New),
		entry(standard.MastraName, standard.NewMastra),
		entry(phrases.Name, phrases.New),
		entry(strands.Name, strands.New),
		entry(superagent.Name, superagent.New),
		entry(langgraphserver.Name, langgraphserver.New),
	})
}

// A List is a list of dialects, in the order in which auto asks them.
type List []Entry

// Names returns the names of the dialects, sorted for a reader: auto first, and then the others in
// alphabetical order.
func (l List) Names() []string {
	names := []string{auto.Name}
	for _, e := range l {
		names = append(names, e.Name)
	}
	slices.Sort(names[1:])
	return names
}

// Variables returns the environment variables of all dialects, those that they share first.
func (l List) Variables() []variables.Variable {
	var list []variables.Variable
	if s := l.shared(); s != nil {
		list = s.group().Variables()
	}
	for _, e := range l {
		list = append(list, e.group().Variables()...)
	}
	return list
}

// Read sets the options of all dialects from an environment. It returns an error for each variable
// that cannot be read.
func (l List) Read(environment map[string]string) []error {
	var errs []error
	for _, e := range l {
		errs = append(errs, e.group().Read(environment)...)
	}
	return append(l.readShared(environment), errs...)
}

// readShared sets the options that the dialects share from an environment.
func (l List) readShared(environment map[string]string) []error {
	s := l.shared()
	if s == nil {
		return nil
	}
	errs := s.group().Read(environment)
	for _, e := range l {
		s.setOptions(e.Options)
	}
	return errs
}

// shared returns the variables that the dialects share, or nil if the list has none.
func (l List) shared() *shared {
	if len(l) == 0 || l[0].shared.options == nil {
		return nil
	}
	return l[0].shared
}

// Check returns an error for each wrong option of any dialect. If the dialect with the parameter
// name needs a variable that is not set, that is an error too.
func (l List) Check(name string) []error {
	var errs []error
	if s := l.shared(); s != nil {
		errs = s.check(l, name)
	}
	said := map[string]bool{} // reports an error in a shared variable only once
	for _, e := range l {
		for _, err := range e.check() {
			if text := err.Error(); !said[text] {
				said[text] = true
				errs = append(errs, err)
			}
		}
		if e.Name == name {
			errs = append(errs, e.missingErrors()...)
		}
	}
	return errs
}

// New makes the dialect with this name from its options. The function warn may be nil.
//
// The dialect auto gets all dialects that speak AG-UI and whose required options are set.
func (l List) New(name string, warn translate.Warn) (translate.Dialect, error) {
	if warn == nil {
		warn = func(string, ...any) {}
	}
	if name == auto.Name {
		list, err := l.autoDialects(warn)
		if err != nil {
			return nil, err
		}
		return auto.New(list, auto.Options{Warn: warn}), nil
	}
	for _, e := range l {
		if e.Name == name {
			return e.New(warn)
		}
	}
	return nil, fmt.Errorf(textNoDialect, name, strings.Join(l.Names(), ", "))
}

// Recognizer returns a Finder that detects which dialect a backend speaks. The caller compares it
// with the dialect that the parameter name names. If name is auto, Recognizer returns nil. The
// Finder writes no warnings.
func (l List) Recognizer(name string) (translate.Finder, error) {
	if name == auto.Name {
		return nil, nil
	}
	list, err := l.autoDialects(func(string, ...any) {})
	if err != nil {
		return nil, err
	}
	return auto.New(list, auto.Options{}), nil
}

// autoDialects returns the dialects that auto asks: those that speak AG-UI and have all their
// required options.
func (l List) autoDialects(warn translate.Warn) ([]translate.Dialect, error) {
	var list []translate.Dialect
	for _, e := range l {
		if len(e.missingErrors()) > 0 {
			continue
		}
		one, err := e.New(warn)
		if err != nil {
			return nil, err
		}
		if _, foreign := one.(translate.Foreign); !foreign {
			list = append(list, one)
		}
	}
	return list, nil
}

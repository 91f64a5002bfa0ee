package dialects

import (
	"errors"
	"fmt"
	"strings"

	"holdpoint/internal/variables"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// An Entry is a dialect that can be made.
type Entry struct {
	Name string
	// Prefix is HOLDPOINT_<NAME>_ in capitals, with underscores for dashes.
	Prefix string
	// Options points to a struct of variables (package variables). It may have two methods:
	//
	//	Check() []error  what is wrong with what was read; kit.WrongOption makes one
	//	Needs() string   the name, without the prefix, of a variable that must be set and is not
	//
	// auto leaves a dialect out that needs something. Naming it is an error that says what.
	Options any
	// New makes the dialect of what Options points to. It refuses options that are wrong.
	New func(translate.Warn) (translate.Dialect, error)
}

// With is the list with one more dialect, which auto asks last.
func With[O any, D translate.Dialect](l List, name string, newDialect func(O, translate.Warn) (D, error)) List {
	return append(l, entry(name, newDialect))
}

// entry makes one of a dialect's name and of its function New.
func entry[O any, D translate.Dialect](name string, newDialect func(O, translate.Warn) (D, error)) Entry {
	o := new(O)
	e := Entry{
		Name:    name,
		Prefix:  "HOLDPOINT_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")) + "_",
		Options: o,
	}
	e.group().Read(nil) // no environment: the defaults
	e.New = func(warn translate.Warn) (translate.Dialect, error) {
		if err := errors.Join(append(e.check(), e.lacks()...)...); err != nil {
			return nil, fmt.Errorf("dialects: %w", err)
		}
		d, err := newDialect(*o, warn)
		if err != nil {
			return nil, err
		}
		return d, nil
	}
	return e
}

func (e Entry) group() variables.Group { return variables.Group{Prefix: e.Prefix, Options: e.Options} }

// check says what is wrong with the options.
func (e Entry) check() []error {
	checker, ok := e.Options.(interface{ Check() []error })
	if !ok {
		return nil
	}
	var errs []error
	for _, err := range checker.Check() {
		name := ""
		if o := (*kit.OptionError)(nil); errors.As(err, &o) {
			name, err = o.Name, o.Err
		}
		errs = append(errs, e.group().Wrong(name, err))
	}
	return errs
}

// lacks says what has to be set and is not.
func (e Entry) lacks() []error {
	needy, ok := e.Options.(interface{ Needs() string })
	if !ok || needy.Needs() == "" {
		return nil
	}
	name := e.Prefix + needy.Needs()
	for _, v := range e.group().Variables() {
		if v.Name == name {
			return []error{fmt.Errorf("%s is not set, and dialect %s needs it: %s", name, e.Name, v.Doc)}
		}
	}
	return []error{fmt.Errorf("%s is not set, and dialect %s needs it", name, e.Name)}
}

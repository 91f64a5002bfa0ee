package dialects

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"holdpoint/internal/variables"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// An Entry describes one dialect of a List.
type Entry struct {
	Name string
	// Prefix begins the names of the dialect's variables. It is HOLDPOINT_<NAME>_, with the name in
	// capitals and underscores in place of dashes. See WithPrefix for other prefixes.
	Prefix string
	// Options points to a struct of variables (package variables). A variable needs a tag means,
	// unless it is a switch or a number. The tag declares for which answers the value of the
	// variable is sent to the backend:
	//
	// 	means:"nothing"     for no answer: the value is not part of an answer
	// 	means:"yes"         for an approval
	// 	means:"no"          for a cancel or a denial; it must not look like a yes or be empty
	// 	means:"no or null"  the same, for backends that read null as a no
	// 	means:"answers"     for all answers; its method Denials returns the values for a denial
	//
	// A field with the tag shared and without the tag env gets its value from a variable that
	// several dialects read, see Shared. Its tag means is checked in the same way.
	//
	// Options may have two methods:
	//
	// 	Check() []error  returns the errors of the options, made with kit.WrongOption
	// 	Needs() string   returns the name, without the prefix, of a required variable that is not set
	//
	// The dialect auto leaves out a dialect whose required variable is not set. If the operator
	// names that dialect, the missing variable is an error.
	Options any
	// New makes the dialect with the current Options. It returns an error if they are not valid.
	New func(translate.Warn) (translate.Dialect, error)

	shared   *shared // equal for all dialects of a list
	copyWith func(prefix string) Entry
}

// With returns the list with one more dialect at its end, so that auto asks it last.
func With[O any, D translate.Dialect](l List, name string, newDialect func(O, translate.Warn) (D, error)) List {
	e := entry(name, newDialect)
	if len(l) > 0 {
		*e.shared = *l[0].shared
	}
	return append(l, e)
}

// WithPrefix returns a copy of the list. The copy has options of its own, set to the defaults. Its
// variables begin with prefix instead of HOLDPOINT_.
func (l List) WithPrefix(prefix string) List {
	list := make(List, len(l))
	for n, e := range l {
		list[n] = e.copyWith(prefix)
	}
	return newShared(prefix).withShared(list)
}

// entry returns the Entry of a dialect. newDialect is the function that makes the dialect from its
// options.
func entry[O any, D translate.Dialect](name string, newDialect func(O, translate.Warn) (D, error)) Entry {
	return entryOf("HOLDPOINT_", name, newDialect)
}

func entryOf[O any, D translate.Dialect](prefix, name string, newDialect func(O, translate.Warn) (D, error)) Entry {
	o := new(O)
	e := Entry{
		Name:    name,
		Prefix:  prefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_")) + "_",
		Options: o,
		shared:  &shared{},
	}
	e.group().Read(nil) // an empty environment sets the defaults
	e.copyWith = func(prefix string) Entry { return entryOf(prefix, name, newDialect) }
	e.New = func(warn translate.Warn) (translate.Dialect, error) {
		if err := errors.Join(append(e.check(), e.missingErrors()...)...); err != nil {
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

// groups returns the dialect's own variables, and the variables that it shares with others.
func (e Entry) groups() []variables.Group {
	if e.shared.options == nil {
		return []variables.Group{e.group()}
	}
	return []variables.Group{e.group(), e.shared.group()}
}

// check returns an error for each wrong option.
func (e Entry) check() []error {
	errs := e.checkMeanings()
	checker, ok := e.Options.(interface{ Check() []error })
	if !ok {
		return errs
	}
	for _, err := range checker.Check() {
		name := ""
		if o := (*kit.OptionError)(nil); errors.As(err, &o) {
			name, err = o.Name, o.Err
		}
		errs = append(errs, e.group().ErrorFor(name, err))
	}
	return errs
}

// checkMeanings returns an error for each value that is sent for a cancel or a denial, but could be
// read as a yes. It also returns an error for each option without a valid tag means, so that no
// dialect can avoid this check.
func (e Entry) checkMeanings() []error {
	var errs []error
	for f, value := range reflect.ValueOf(e.Options).Elem().Fields() {
		name, is := f.Tag.Lookup("env")
		if !is && (f.Tag.Get("shared") == "" || value.IsZero()) {
			continue // a default of the dialect is checked by the tests
		}
		if err := checkMeaning(f.Tag.Get("means"), value); err != nil && is {
			errs = append(errs, e.group().ErrorFor(name, err))
		} else if err != nil {
			errs = append(errs, e.shared.group().ErrorFor("CANCEL", err))
		}
	}
	return errs
}

func checkMeaning(means string, value reflect.Value) error {
	switch option := value.Interface().(type) {
	case kit.JSON:
		if means == "no" || means == "no or null" && strings.TrimSpace(option.String()) != "null" {
			return option.DeniesOnly()
		}
		if means == "no or null" {
			return nil
		}
	case kit.Text:
		if means == "no" {
			return option.DeniesOnly()
		}
	case interface{ Denials() []json.RawMessage }:
		if means == "answers" {
			for _, denial := range option.Denials() {
				if err := kit.JSON(denial).DeniesOnly(); err != nil {
					return fmt.Errorf("%s: %w", denial, err)
				}
			}
			return nil
		}
	}
	switch {
	case means == "nothing", means == "yes", means == "" && (value.Kind() == reflect.Bool || value.CanInt()):
		return nil
	case means == "":
		return errors.New(textNoMeaning)
	}
	return fmt.Errorf(textWrongMeaning, means, value.Type())
}

// missingVariable returns the full name and the description of a required variable that is not set.
// It returns "" as the name if all are set.
func (e Entry) missingVariable() (name, doc string) {
	needy, ok := e.Options.(interface{ Needs() string })
	if !ok || needy.Needs() == "" {
		return "", ""
	}
	for _, g := range e.groups() {
		if g.Has(needy.Needs()) {
			return g.Prefix + needy.Needs(), g.Doc(needy.Needs())
		}
	}
	return e.Prefix + needy.Needs(), ""
}

// missingErrors returns an error if a required variable is not set.
func (e Entry) missingErrors() []error {
	switch name, doc := e.missingVariable(); {
	case name == "":
		return nil
	case doc == "":
		return []error{fmt.Errorf(textNotSet, name, e.Name)}
	default:
		purpose, _, _ := strings.Cut(doc, ". ") // the rest of doc says who needs the variable
		return []error{fmt.Errorf(textNotSetFor, name, e.Name, purpose)}
	}
}

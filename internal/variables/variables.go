// Package variables reads structs from environment variables, and describes these variables. The
// configuration of the binary and the options of dialects both use it.
//
// A field with the tag env is a variable. The tags of such a field:
//
//	env         the name of the variable, without the group's prefix
//	envDefault  the default, as a variable would have it; without this tag it is the zero value
//	values      the allowed values, a|b, if the variable has a list of them
//	doc         what the variable does: a sentence without a full stop
//	short       the same in a few words, if a beginner needs the variable
//
// A field of type Secret is two variables. The name of the second has _FILE at the end, and its
// value names a file with the secret. The tag file describes the second variable.
//
// The fields of an embedded struct count as fields of the outer struct. The type of the embedded
// struct must be exported.
//
// An empty variable counts as unset, because templates of charts and compose files write unset
// variables as empty.
//
// The package reads no files except those of secrets. Its callers look for variables that do not
// exist.
package variables

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
)

// A Group has variables with one prefix. Options points to the struct that they are read into.
type Group struct {
	Prefix  string
	Options any
}

// A Variable describes one field of a group.
type Variable struct {
	Name    string   // name with the prefix
	Default string   // default as a variable would have it, "" for none
	Values  []string // allowed values, nil if any value is allowed
	Doc     string
	Short   string // a short form of Doc, "" if a beginner does not need the variable
	// Value is the current value as a log may show it. IsDefault reports whether it is the default.
	Value     string
	IsDefault bool
}

// Variables returns the variables of the group, in the order of the fields.
func (g Group) Variables() []Variable {
	unset := g.fresh()
	if err := unset.parse(nil); err != nil {
		panic("variables: a default cannot be read: " + err.Error()) // the tag of the field is wrong
	}
	return g.variables(reflect.ValueOf(g.Options).Elem(), reflect.ValueOf(unset.Options).Elem())
}

// variables returns the variables for the fields of the struct now. byDefault is a struct of the
// same type with all defaults.
func (g Group) variables(now, byDefault reflect.Value) []Variable {
	var list []Variable
	for f, value := range now.Fields() {
		key, tagged := f.Tag.Lookup("env")
		if !tagged {
			if f.Anonymous && f.Type.Kind() == reflect.Struct {
				list = append(list, g.variables(value, byDefault.FieldByIndex(f.Index))...)
			}
			continue
		}
		v := Variable{
			Name: g.Prefix + key, Default: f.Tag.Get("envDefault"), Doc: f.Tag.Get("doc"), Short: f.Tag.Get("short"), Value: shownValue(value),
		}
		v.IsDefault = v.Value == shownValue(byDefault.FieldByIndex(f.Index))
		if s := f.Tag.Get("values"); s != "" {
			v.Values = strings.Split(s, "|")
		}
		list = append(list, v)
		if f.Type == secretType {
			list = append(list, twin(v, key, f.Tag.Get("file"), value.FieldByName("File").String()))
		}
	}
	return list
}

// Read fills the group from an environment. It returns an error for each variable that cannot be
// read. Such a variable keeps its default, so that the others can still be checked.
func (g Group) Read(environment map[string]string) []error {
	var errs []error
	good := map[string]string{}
	for _, v := range g.Variables() {
		value := environment[v.Name]
		if value == "" {
			continue
		}
		// Each variable is parsed by itself, because env's errors name the field and not the
		// variable.
		err := cause(g.fresh().parse(map[string]string{v.Name: value}))
		if err == nil && v.Values != nil && !slices.Contains(v.Values, value) {
			err = fmt.Errorf(textOneOf, strings.Join(v.Values, ", "))
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s %s: %w", v.Name, Quote(value), err))
			continue
		}
		good[v.Name] = value
	}
	if err := g.parse(good); err != nil { // not reached: each value was parsed by itself before
		errs = append(errs, err)
	}
	g.setFiles(reflect.ValueOf(g.Options).Elem(), good)
	return errs
}

// Check calls the Check method of the options, if there is one, and returns its errors. It adds the
// name and the value of the variable to each error of At.
func (g Group) Check() []error {
	checker, ok := g.Options.(interface{ Check() []error })
	if !ok {
		return nil
	}
	errs := checker.Check()
	for n, err := range errs {
		if at := (*atError)(nil); errors.As(err, &at) {
			errs[n] = g.Wrong(at.name, at.err)
		}
	}
	return errs
}

// At returns an error for Check to return about the variable name, which is without the prefix.
func At(name string, err error) error { return &atError{name, err} }

// Atf is like At, with a format.
func Atf(name, format string, args ...any) error { return At(name, fmt.Errorf(format, args...)) }

type atError struct {
	name string
	err  error
}

func (e *atError) Error() string { return e.name + ": " + e.err.Error() }

func (e *atError) Unwrap() error { return e.err }

// Split returns the errors that were joined by errors.Join.
func Split(err error) []error {
	if err == nil {
		return nil
	}
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		return all.Unwrap()
	}
	return []error{err}
}

// Has reports whether the group has the variable name, which is without the prefix.
func (g Group) Has(name string) bool {
	return slices.ContainsFunc(g.Variables(), func(v Variable) bool { return v.Name == g.Prefix+name })
}

// Doc returns the description of the variable name, which is without the prefix.
func (g Group) Doc(name string) string {
	for _, v := range g.Variables() {
		if v.Name == g.Prefix+name {
			return v.Doc
		}
	}
	return ""
}

// Wrong returns the error for a value that was read but is wrong. name is without the prefix.
func (g Group) Wrong(name string, err error) error {
	for _, v := range g.Variables() {
		if v.Name == g.Prefix+name {
			return fmt.Errorf("%s %s: %w", v.Name, Quote(v.Value), err)
		}
	}
	return fmt.Errorf("%s%s: %w", g.Prefix, name, err)
}

// fresh returns a group of the same type with zero values.
func (g Group) fresh() Group {
	return Group{g.Prefix, reflect.New(reflect.TypeOf(g.Options).Elem()).Interface()}
}

func (g Group) parse(environment map[string]string) error {
	if environment == nil {
		environment = map[string]string{} // env would read the process's environment for nil
	}
	return env.ParseWithOptions(g.Options, env.Options{Prefix: g.Prefix, Environment: environment, FuncMap: parsers()})
}

// cause returns the error of a parser, without the text that env adds.
func cause(err error) error {
	if all, ok := err.(env.AggregateError); ok && len(all.Errors) > 0 { //nolint:errorlint // env returns it bare
		err = all.Errors[0]
	}
	if p, ok := err.(env.ParseError); ok { //nolint:errorlint // as above
		err = p.Err
	}
	return err
}

// shownValue returns a value for a log. Types with secrets cut them in their String methods.
func shownValue(value reflect.Value) string {
	if d, ok := value.Interface().(time.Duration); ok {
		return shownDuration(d)
	}
	if value.Kind() == reflect.Slice && value.Type().Elem().Kind() == reflect.Uint8 {
		return string(value.Bytes())
	}
	return fmt.Sprint(value.Interface())
}

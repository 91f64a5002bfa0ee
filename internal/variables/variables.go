// Package variables reads environment variables into structs, and describes these variables. The
// configuration of the binary and the options of dialects both use it.
//
// A field with the tag env is a variable. The tags of such a field are:
//
//	env         the name of the variable, without the group's prefix
//	envDefault  the default, as a variable would have it; without this tag it is the zero value
//	values      the allowed values, a|b, if the variable has a list of them
//	doc         what the variable does: a sentence without a full stop
//	short       the same in a few words, if a beginner needs the variable
//
// A field of type Secret stands for two variables. The name of the second ends in _FILE, and its
// value names a file that contains the secret. The tag file describes the second variable.
//
// The fields of an embedded struct count as fields of the outer struct. The type of the embedded
// struct must be exported.
//
// An empty variable counts as unset, because templates of charts and compose files write unset
// variables as empty.
//
// The package reads no files except those of secrets. It does not report variables that no field
// has; its callers do.
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

// A Group is a set of variables whose names have the same prefix. Options points to the struct into
// which Read reads them.
type Group struct {
	Prefix  string
	Options any
}

// A Variable describes one field of a group.
type Variable struct {
	Name    string   // the name with the prefix
	Default string   // the default as the variable would have it, or ""
	Values  []string // the allowed values; nil if any value is allowed
	Doc     string
	Short   string // a short form of Doc; "" if a beginner does not need the variable
	// Value is the current value in the form in which a log may show it. IsDefault is true if the
	// value is the default.
	Value     string
	IsDefault bool
}

// Variables returns the variables of the group in the order of the struct's fields.
func (g Group) Variables() []Variable {
	unset := g.emptyCopy()
	if err := unset.parse(nil); err != nil {
		// the tag of the field is wrong
		panic("variables: a default cannot be read: " + err.Error())
	}
	return g.variables(reflect.ValueOf(g.Options).Elem(), reflect.ValueOf(unset.Options).Elem())
}

// variables returns the variables for the fields of the struct current. defaults is a struct of the
// same type in which all fields have their defaults.
func (g Group) variables(current, defaults reflect.Value) []Variable {
	var list []Variable
	for f, value := range current.Fields() {
		key, tagged := f.Tag.Lookup("env")
		if !tagged {
			if f.Anonymous && f.Type.Kind() == reflect.Struct {
				list = append(list, g.variables(value, defaults.FieldByIndex(f.Index))...)
			}
			continue
		}
		v := Variable{
			Name: g.Prefix + key, Default: f.Tag.Get("envDefault"), Doc: f.Tag.Get("doc"), Short: f.Tag.Get("short"), Value: shownValue(value),
		}
		v.IsDefault = v.Value == shownValue(defaults.FieldByIndex(f.Index))
		if s := f.Tag.Get("values"); s != "" {
			v.Values = strings.Split(s, "|")
		}
		list = append(list, v)
		if f.Type == secretType {
			list = append(list, fileVariable(v, key, f.Tag.Get("file"), value.FieldByName("File").String()))
		}
	}
	return list
}

// Read fills the group from an environment. It returns an error for each variable that cannot be
// read. The field of such a variable gets its default, so that the other fields can still be
// checked.
func (g Group) Read(environment map[string]string) []error {
	var errs []error
	good := map[string]string{}
	for _, v := range g.Variables() {
		value := environment[v.Name]
		if value == "" {
			continue
		}
		// Each variable is parsed separately, because the errors of the package env name the field
		// instead of the variable.
		err := cause(g.emptyCopy().parse(map[string]string{v.Name: value}))
		if err == nil && v.Values != nil && !slices.Contains(v.Values, value) {
			err = fmt.Errorf(textOneOf, strings.Join(v.Values, ", "))
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s %s: %w", v.Name, Quote(value), err))
			continue
		}
		good[v.Name] = value
	}
	if err := g.parse(good); err != nil { // cannot happen: each value was parsed before
		errs = append(errs, err)
	}
	g.setFiles(reflect.ValueOf(g.Options).Elem(), good)
	return errs
}

// Check calls the Check method of the options, if there is one, and returns its errors. It adds the
// name and the value of the variable to each error that ErrorAt or ErrorAtf has made.
func (g Group) Check() []error {
	checker, ok := g.Options.(interface{ Check() []error })
	if !ok {
		return nil
	}
	errs := checker.Check()
	for n, err := range errs {
		if at := (*atError)(nil); errors.As(err, &at) {
			errs[n] = g.ErrorFor(at.name, at.err)
		}
	}
	return errs
}

// ErrorAt returns an error about a variable, which a Check method can return. name is the
// variable's name without the prefix.
func ErrorAt(name string, err error) error { return &atError{name, err} }

// ErrorAtf is like ErrorAt, but makes the error of a format and arguments.
func ErrorAtf(name, format string, args ...any) error {
	return ErrorAt(name, fmt.Errorf(format, args...))
}

type atError struct {
	name string
	err  error
}

func (e *atError) Error() string { return e.name + ": " + e.err.Error() }

func (e *atError) Unwrap() error { return e.err }

// SplitErrors returns the errors that errors.Join has joined.
func SplitErrors(err error) []error {
	if err == nil {
		return nil
	}
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		return all.Unwrap()
	}
	return []error{err}
}

// Has reports whether the group has a variable with that name. name is without the prefix.
func (g Group) Has(name string) bool {
	return slices.ContainsFunc(g.Variables(), func(v Variable) bool { return v.Name == g.Prefix+name })
}

// Doc returns the description of a variable, or "" if the group does not have it. name is without
// the prefix.
func (g Group) Doc(name string) string {
	for _, v := range g.Variables() {
		if v.Name == g.Prefix+name {
			return v.Doc
		}
	}
	return ""
}

// ErrorFor returns the error for a variable whose value could be read but is wrong. name is without
// the prefix.
func (g Group) ErrorFor(name string, err error) error {
	for _, v := range g.Variables() {
		if v.Name == g.Prefix+name {
			return fmt.Errorf("%s %s: %w", v.Name, Quote(v.Value), err)
		}
	}
	return fmt.Errorf("%s%s: %w", g.Prefix, name, err)
}

// emptyCopy returns a group whose Options have the same type and zero values.
func (g Group) emptyCopy() Group {
	return Group{g.Prefix, reflect.New(reflect.TypeOf(g.Options).Elem()).Interface()}
}

func (g Group) parse(environment map[string]string) error {
	if environment == nil {
		// for nil, the package env would read the process's environment
		environment = map[string]string{}
	}
	return env.ParseWithOptions(g.Options, env.Options{Prefix: g.Prefix, Environment: environment, FuncMap: parsers()})
}

// cause returns the error that a parser has returned, without the text that the package env adds.
func cause(err error) error {
	if all, ok := err.(env.AggregateError); ok && len(all.Errors) > 0 { //nolint:errorlint // env returns it bare
		err = all.Errors[0]
	}
	if p, ok := err.(env.ParseError); ok { //nolint:errorlint // as above
		err = p.Err
	}
	return err
}

// shownValue returns a value in the form for a log. The String methods of types with secrets omit
// them.
func shownValue(value reflect.Value) string {
	if d, ok := value.Interface().(time.Duration); ok {
		return shownDuration(d)
	}
	if value.Kind() == reflect.Slice && value.Type().Elem().Kind() == reflect.Uint8 {
		return string(value.Bytes())
	}
	return fmt.Sprint(value.Interface())
}

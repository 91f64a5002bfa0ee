// Package variables reads structs from environment variables, and tells what those are: for the
// configuration of the binary and for the options of each dialect. The rules are the same for both.
//
// A field with a tag env is a variable. Its tags:
//
//	env         the name behind the group's prefix
//	envDefault  the default, as it would be written; without it the zero value
//	values      what is taken, a|b, where that is a list
//	doc         what it does: a sentence without a full stop
//	short       the same in a few words, if a beginner needs the variable
//
// A field of type Secret is two variables: the second has _FILE behind its name, and names a file
// with the value. Its tag file is the doc of the second, if there is more to say.
//
// The fields of an embedded struct are those of the struct that it is in. Its type is exported.
//
// An empty variable counts as unset: templates of charts and compose files write them so.
//
// It reads no file but that of a Secret, and it does not know which variables there should be.
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

// A Group is some variables with one prefix. Options points to the struct that they are read into.
type Group struct {
	Prefix  string
	Options any
}

// A Variable is one field of a group.
type Variable struct {
	Name    string   // with the prefix
	Default string   // as it is written, "" if there is none
	Values  []string // what is taken, nil for anything
	Doc     string
	Short   string // Doc in a few words, "" if no beginner needs the variable
	// Value is what is in effect, as a log may hold it, and IsDefault whether that is the default.
	Value     string
	IsDefault bool
}

// Variables returns those of the group, in the order of its fields.
func (g Group) Variables() []Variable {
	unset := g.fresh()
	if err := unset.parse(nil); err != nil {
		panic("variables: a default cannot be read: " + err.Error()) // a mistake in a tag
	}
	return g.variables(reflect.ValueOf(g.Options).Elem(), reflect.ValueOf(unset.Options).Elem())
}

// variables returns those of the struct now. byDefault is the same with nothing set.
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
// read. Those keep their default, so that the rest can be judged in the same go.
func (g Group) Read(environment map[string]string) []error {
	var errs []error
	good := map[string]string{}
	for _, v := range g.Variables() {
		value := environment[v.Name]
		if value == "" {
			continue
		}
		// One by one, because env's errors name the field and not the variable.
		err := cause(g.fresh().parse(map[string]string{v.Name: value}))
		if err == nil && v.Values != nil && !slices.Contains(v.Values, value) {
			err = fmt.Errorf("want one of %s", strings.Join(v.Values, ", "))
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s %s: %w", v.Name, Quote(value), err))
			continue
		}
		good[v.Name] = value
	}
	if err := g.parse(good); err != nil { // what could be read alone can be read together
		errs = append(errs, err)
	}
	g.setFiles(reflect.ValueOf(g.Options).Elem(), good)
	return errs
}

// Check returns what the options' own Check says is wrong with them. Each error of At gets the name
// and the value of its variable.
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

// At returns the error of a Check for the variable of that name, without the prefix.
func At(name string, err error) error { return &atError{name, err} }

// Atf is At with a text.
func Atf(name, format string, args ...any) error { return At(name, fmt.Errorf(format, args...)) }

type atError struct {
	name string
	err  error
}

func (e *atError) Error() string { return e.name + ": " + e.err.Error() }

func (e *atError) Unwrap() error { return e.err }

// Split returns the errors that errors.Join joined.
func Split(err error) []error {
	if err == nil {
		return nil
	}
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		return all.Unwrap()
	}
	return []error{err}
}

// Has reports whether the group has a variable of that name, without the prefix.
func (g Group) Has(name string) bool {
	return slices.ContainsFunc(g.Variables(), func(v Variable) bool { return v.Name == g.Prefix+name })
}

// Doc returns what the variable of that name does, without the prefix.
func (g Group) Doc(name string) string {
	for _, v := range g.Variables() {
		if v.Name == g.Prefix+name {
			return v.Doc
		}
	}
	return ""
}

// Wrong returns the error for a value that could be read. name is without the prefix.
func (g Group) Wrong(name string, err error) error {
	for _, v := range g.Variables() {
		if v.Name == g.Prefix+name {
			return fmt.Errorf("%s %s: %w", v.Name, Quote(v.Value), err)
		}
	}
	return fmt.Errorf("%s%s: %w", g.Prefix, name, err)
}

// fresh returns the same group with nothing set.
func (g Group) fresh() Group {
	return Group{g.Prefix, reflect.New(reflect.TypeOf(g.Options).Elem()).Interface()}
}

func (g Group) parse(environment map[string]string) error {
	if environment == nil {
		environment = map[string]string{} // to env nil is the process's own
	}
	return env.ParseWithOptions(g.Options, env.Options{Prefix: g.Prefix, Environment: environment, FuncMap: parsers()})
}

// cause returns what a parser said, without what env puts around it.
func cause(err error) error {
	if all, ok := err.(env.AggregateError); ok && len(all.Errors) > 0 { //nolint:errorlint // env returns it bare
		err = all.Errors[0]
	}
	if p, ok := err.(env.ParseError); ok { //nolint:errorlint // as above
		err = p.Err
	}
	return err
}

// shownValue returns a value as a log may hold it. A type that holds secrets cuts them in its
// String.
func shownValue(value reflect.Value) string {
	if d, ok := value.Interface().(time.Duration); ok {
		return shownDuration(d)
	}
	if value.Kind() == reflect.Slice && value.Type().Elem().Kind() == reflect.Uint8 {
		return string(value.Bytes())
	}
	return fmt.Sprint(value.Interface())
}

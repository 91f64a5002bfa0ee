package main

import (
	"cmp"
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"

	"holdpoint/translate/dialects"
)

// prefix of every variable of ours.
const prefix = "HOLDPOINT_"

// A variable is one line of the reference, read from the struct config and the options of the dialects.
type variable struct {
	name     string   // with prefix
	fallback string   // the default as it is written, "" if there is none
	values   []string // the values that are taken, nil for any
	doc      string   // one sentence without a full stop
	field    []int    // where it stands in config
}

// variables are all that exist, in the order of the struct.
func variables() []variable {
	list := collect(reflect.TypeFor[config](), prefix, nil)
	for i := range list {
		if list[i].name == prefix+"DIALECT" {
			list[i].values = dialects.Names()
		}
	}
	return list
}

// collect walks a struct as env does: a field with a tag `env` is a variable, a struct without one holds more.
func collect(t reflect.Type, prefix string, at []int) []variable {
	var list []variable
	for f := range t.Fields() {
		path := slices.Concat(at, f.Index)
		key, tagged := f.Tag.Lookup("env")
		switch {
		case tagged:
			v := variable{name: prefix + key, fallback: f.Tag.Get("envDefault"), doc: f.Tag.Get("doc"), field: path}
			if s := f.Tag.Get("values"); s != "" {
				v.values = strings.Split(s, "|")
			}
			list = append(list, v)
		case f.Type.Kind() == reflect.Struct:
			list = append(list, collect(f.Type, prefix+f.Tag.Get("envPrefix"), path)...)
		}
	}
	return list
}

// of is the variable's value in c as a log may hold it.
func (v variable) of(c *config) string {
	value := reflect.ValueOf(c).Elem().FieldByIndex(v.field)
	switch x := value.Interface().(type) {
	case *url.URL:
		return shownURL(x)
	case time.Duration:
		return shownDuration(x)
	}
	if value.Kind() == reflect.Slice && value.Type().Elem().Kind() == reflect.Uint8 {
		return string(value.Bytes())
	}
	return fmt.Sprint(value.Interface())
}

// parse reads one struct of variables. An empty variable counts as unset: templates of charts and compose files write
// them so.
func parse(c *config, environment map[string]string) error {
	return env.ParseWithOptions(c, env.Options{Prefix: prefix, Environment: environment, FuncMap: parsers()})
}

// readVariables fills c, and says of each variable that cannot be read what is wrong with it; those keep their
// default, so that the rest can be judged in the same go.
func readVariables(c *config, environment map[string]string) []error {
	var errs []error
	good := make(map[string]string, len(environment))
	for _, v := range variables() {
		value := environment[v.name]
		if value == "" {
			continue
		}
		// One by one, because env's errors name the field and not the variable.
		if err := parse(new(config), map[string]string{v.name: value}); err != nil {
			errs = append(errs, fmt.Errorf("config: %s %s: %w", v.name, shownText(value), cause(err)))
			continue
		}
		if v.values != nil && !slices.Contains(v.values, value) {
			errs = append(errs, fmt.Errorf("config: %s %s: want one of %s", v.name, shownText(value), strings.Join(v.values, ", ")))
			continue
		}
		good[v.name] = value
	}
	if err := parse(c, good); err != nil { // a default of ours that cannot be read
		errs = append(errs, fmt.Errorf("config: %w", err))
	}
	return errs
}

// cause is what a parser said, without what env puts around it.
func cause(err error) error {
	if all, ok := err.(env.AggregateError); ok && len(all.Errors) > 0 { //nolint:errorlint // env returns it bare
		err = all.Errors[0]
	}
	if p, ok := err.(env.ParseError); ok { //nolint:errorlint // as above
		err = p.Err
	}
	return err
}

// ownNames are the variables of the environment that begin with our prefix, sorted: those that nobody knows, and
// those that Kubernetes injects.
func ownNames(environment map[string]string) (unknown, injected []string) {
	known := map[string]bool{}
	for _, v := range variables() {
		known[v.name] = true
	}
	for name := range environment {
		switch {
		case !strings.HasPrefix(name, prefix) || known[name]:
		case fromKubernetes.MatchString(name):
			injected = append(injected, name)
		default:
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	slices.Sort(injected)
	return unknown, injected
}

// fromKubernetes matches what Kubernetes sets in every pod of a namespace for a Service whose name begins with
// holdpoint: HOLDPOINT_SERVICE_HOST, HOLDPOINT_SERVICE_PORT, HOLDPOINT_SERVICE_PORT_HTTP, HOLDPOINT_PORT,
// HOLDPOINT_PORT_7080_TCP and so on (enableServiceLinks, which is on unless a pod says otherwise).
var fromKubernetes = regexp.MustCompile(`_SERVICE_HOST$|_SERVICE_PORT(_.*)?$|_PORT$|_PORT_[0-9]+_`)

// nearest is the known name with the smallest edit distance.
func nearest(name string) string {
	return slices.MinFunc(variables(), func(a, b variable) int {
		return cmp.Compare(distance(name, a.name), distance(name, b.name))
	}).name
}

// distance is the number of letters to insert, drop, replace or swap with their neighbour (optimal string alignment).
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replace := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, replace)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}

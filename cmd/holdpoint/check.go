package main

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"holdpoint/internal/variables"
	"holdpoint/translate/dialects"
)

// check is `holdpoint check`, and `holdpoint check desk` for the desk alone. It prints every error
// at once, or the effective configuration.
func check(environ []string, list dialects.List, deskOnly bool, t terminal) int {
	c, err := loadFor(environ, list, deskOnly)
	if err != nil {
		fmt.Fprintln(t.err, err)
		return exitMisuse
	}
	w := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	for _, s := range c.settings() {
		fmt.Fprintf(w, "%s\t%s\n", s.name, s)
	}
	w.Flush()
	for _, a := range c.agents() {
		_, err = a.dialects.New(a.Dialect, func(msg string, args ...any) {
			fmt.Fprintf(t.out, "warning: %s %v\n", msg, args)
		})
		if err != nil {
			fmt.Fprintln(t.err, err)
			return exitMisuse
		}
	}
	for _, note := range c.notes() {
		fmt.Fprintf(t.out, "warning: %s\n", note)
	}
	for _, name := range c.ignored {
		fmt.Fprintf(t.out, "%s is ignored: Kubernetes sets such names for a Service called holdpoint\n", name)
	}
	return exitOK
}

// A setting is one variable as it is in effect, with secrets cut out.
type setting struct {
	name, value string
	isDefault   bool
	inherited   bool // of a route: it is as without the route's prefix
}

func (s setting) String() string {
	switch {
	case s.value == "":
		return "(none)"
	case s.inherited:
		return s.value + " (for all)"
	case s.isDefault:
		return s.value + " (default)"
	}
	return s.value
}

// settings are all variables in effect. Of the headers it has the names only. Of a route it has
// what an agent has, and the options of dialects that the route has for itself.
func (c *config) settings() []setting {
	var list []setting
	for _, v := range c.variables() {
		if v.Name != routeVariable.Name {
			list = append(list, settingOf(&c.Agent, v))
		}
	}
	for _, r := range c.routes {
		for _, v := range r.routeGroup().Variables() {
			s := settingOf(&r.Agent, v)
			s.inherited = !r.own[v.Name] && !s.isDefault
			list = append(list, s)
		}
		for _, v := range r.dialects.Variables() {
			if r.own[v.Name] {
				list = append(list, settingOf(&r.Agent, v))
			}
		}
	}
	return list
}

func settingOf(a *Agent, v variables.Variable) setting {
	s := setting{name: v.Name, value: v.Value, isDefault: v.IsDefault}
	if v.Name == a.prefix+"UPSTREAM_HEADERS_FILE" && s.value != "" {
		s.value += " " + headerNames(a)
	}
	return s
}

func headerNames(a *Agent) string {
	names := make([]string, 0, len(a.headers))
	for name := range a.headers {
		names = append(names, name)
	}
	slices.Sort(names)
	return "(" + strings.Join(names, ", ") + ")"
}

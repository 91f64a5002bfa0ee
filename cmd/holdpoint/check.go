package main

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"holdpoint/translate/dialects"
)

// check is `holdpoint check`. It prints every error at once, or the effective configuration.
func check(environ []string, list dialects.List, t terminal) int {
	c, err := load(environ, list)
	if err != nil {
		fmt.Fprintln(t.err, err)
		return exitMisuse
	}
	w := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	for _, s := range c.settings() {
		fmt.Fprintf(w, "%s\t%s\n", s.name, s)
	}
	w.Flush()
	_, err = c.dialects.New(c.Dialect, func(msg string, args ...any) {
		fmt.Fprintf(t.out, "warning: %s %v\n", msg, args)
	})
	if err != nil {
		fmt.Fprintln(t.err, err)
		return exitMisuse
	}
	if note := c.shareNote(); note != "" {
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
}

func (s setting) String() string {
	switch {
	case s.value == "":
		return "(none)"
	case s.isDefault:
		return s.value + " (default)"
	}
	return s.value
}

// settings are all variables in effect. Of the headers it has the names only.
func (c *config) settings() []setting {
	var list []setting
	for _, v := range c.variables() {
		s := setting{name: v.Name, value: v.Value, isDefault: v.IsDefault}
		if v.Name == prefix+"UPSTREAM_HEADERS_FILE" && s.value != "" {
			s.value += " " + headerNames(c)
		}
		list = append(list, s)
	}
	return list
}

func headerNames(c *config) string {
	names := make([]string, 0, len(c.headers))
	for name := range c.headers {
		names = append(names, name)
	}
	slices.Sort(names)
	return "(" + strings.Join(names, ", ") + ")"
}

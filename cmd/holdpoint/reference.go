package main

import (
	"fmt"
	"io"
	"strings"
)

// The reference of the environment in its three forms. They say the same, because all are made from variables(); tests
// compare the package comment and docs/configuration.md with them.

// fallbackText is the default as the reference shows it.
func (v variable) fallbackText() string {
	switch {
	case v.name == prefix+"UPSTREAM":
		return "required"
	case v.fallback == "":
		return "none"
	}
	return v.fallback
}

// text is what the variable does, with the values that it takes where the sentence does not name them.
func (v variable) text() string {
	if v.values == nil {
		return v.doc
	}
	return v.doc + "; one of " + strings.Join(v.values, ", ")
}

// markdownTable is the section of docs/configuration.md between its markers, without them.
func markdownTable() string {
	var b strings.Builder
	b.WriteString("| Variable | Default | What it does |\n|---|---|---|\n")
	for _, v := range variables() {
		fallback := v.fallbackText()
		if v.fallback != "" {
			fallback = "`" + fallback + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", v.name, fallback, strings.ReplaceAll(v.text(), "|", `\|`))
	}
	return b.String()
}

// commentList is the section "Environment" of the package comment: a list item for each variable.
func commentList() string {
	var b strings.Builder
	for _, v := range variables() {
		b.WriteString(wrap(fmt.Sprintf("%s (%s): %s", v.name, v.fallbackText(), v.text()), "//   - ", "//     ", 100))
	}
	return b.String()
}

const usageHead = `Holdpoint is a reverse proxy for AG-UI agents: it makes their pauses AG-UI interrupts and takes the answers back.

usage: holdpoint [command]

  run      start the proxy (also without a command)
  check    validate the configuration and print it, secrets cut
  demo     show a pause and its answer in this terminal; needs no configuration
           with -serve: serve a scripted agent behind Holdpoint, for curl or a client of your own
  version  print the version
  help     print this text (also -h)

It is configured by its environment. An empty variable counts as unset. Sizes are bytes or have a unit (16MiB, 8MB),
durations are as Go writes them (15s, 1h30m).
`

// printUsage is `holdpoint -h`.
func printUsage(w io.Writer) {
	io.WriteString(w, usageHead) //nolint:errcheck // a terminal that is gone
	for _, v := range variables() {
		fmt.Fprintf(w, "\n  %s (%s)\n%s", v.name, v.fallbackText(), wrap(v.text(), "      ", "      ", 100))
	}
}

// wrap breaks text into lines of at most width bytes, the first and the others with their indents.
func wrap(text, first, others string, width int) string {
	var b strings.Builder
	line := first
	for i, word := range strings.Fields(text) {
		if i > 0 && len(line)+1+len(word) > width {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
			line = others
		} else if i > 0 {
			line += " "
		}
		line += word
	}
	b.WriteString(line + "\n")
	return b.String()
}

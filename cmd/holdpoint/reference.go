package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"holdpoint/internal/variables"
)

// The reference of the environment in its three forms. They say the same, because all are made from
// config.variables; tests compare the package comment and docs/configuration.md with them.

// variables are all that exist: the configuration's, and those of the dialects.
func (c *config) variables() []variables.Variable {
	list := slices.Concat(c.group().Variables(), []variables.Variable{routeVariable}, c.dialects.Variables())
	for i := range list {
		if list[i].Name == prefix+"DIALECT" {
			list[i].Values = c.dialects.Names()
		}
	}
	return list
}

// fallbackText is the default as the reference shows it.
func fallbackText(v variables.Variable) string {
	switch {
	case v.Name == prefix+"UPSTREAM":
		return "required"
	case v.Default == "":
		return "none"
	}
	return v.Default
}

// text is what the variable does, with the values that it takes.
func text(v variables.Variable) string {
	if v.Values == nil {
		return v.Doc
	}
	return v.Doc + ". Values: " + strings.Join(v.Values, ", ")
}

// markdownTable is the section of docs/configuration.md between its markers, without them.
func markdownTable(list []variables.Variable) string {
	var b strings.Builder
	b.WriteString("| Variable | Default | What it does |\n|---|---|---|\n")
	for _, v := range list {
		fallback := fallbackText(v)
		if v.Default != "" {
			fallback = "`" + fallback + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", v.Name, fallback, strings.ReplaceAll(text(v), "|", `\|`))
	}
	return b.String()
}

// commentList is the section "Environment" of the package comment: a list item for each variable.
func commentList(list []variables.Variable) string {
	var b strings.Builder
	for _, v := range list {
		b.WriteString(wrap(fmt.Sprintf("%s (%s): %s", v.Name, fallbackText(v), text(v)), "//   - ", "//     ", 100))
	}
	return b.String()
}

const usageHead = `Holdpoint is a reverse proxy for AI agents that speak AG-UI. It turns the pauses of an agent backend
into AG-UI interrupts, and hands the client's answers back in the backend's own form.

usage: holdpoint [command]

  run      start the proxy (also without a command)
  desk     start the desk alone, for all agents that share a store; needs no HOLDPOINT_UPSTREAM
  check    validate the configuration and print it, without secrets
  demo     show a pause and its answer in this terminal; needs no configuration
           with -serve: keep a scripted agent and Holdpoint running, for curl or another client
           with -desk: answer a question on the desk's page, and see the run go on
  store schema
           print the SQL that makes the tables of a PostgreSQL store, for a DBA
  healthcheck [live|ready|started]
           ask the running process, as a probe does; exit 0 if it is. Without a word: live
  drain    make the running process not ready, and wait until its streams have ended
  audit verify [-head seq:hash] FILE...
           read the files of an audit, the oldest first, and say which line was taken out or changed
  doctor [-json] URL|FILE|-
           send one harmless run to a backend, or read the recorded answer of one, and tell how it
           pauses and what Holdpoint makes of it (docs/doctor.md). doctor -h has its options
  version  print the version
  help     print this text (also -h)

Environment variables configure it. Only HOLDPOINT_UPSTREAM must be set, or a route. An empty variable
counts as unset. A size is bytes or has a unit (16MiB, 8MB). A duration is as Go writes it (15s, 1h30m).
`

// A topic is a heading of `holdpoint -h`.
type topic struct {
	heading string
	names   []string // how the names below it begin
}

// topics are the headings of `holdpoint -h`, each with how the names below it begin, without the
// prefix. A variable stands under the first topic that fits.
var topics = []topic{
	{"The agent", []string{"UPSTREAM", "PRESERVE_HOST", "NAME", "DIALECT", "CLIENT", "ANSWERS", "SESSIONS", "ROUTES"}},
	{"Pages of other origins", []string{"CORS_"}},
	{"Listeners", []string{"LISTEN", "TLS_", "H2C", "ADMIN_", "PPROF"}},
	{"Where questions are kept, and for how long", []string{"STORE", "INTERRUPT_TTL", "PAUSE_RETENTION", "REPLAY_TTL"}},
	{"Bounds and times", []string{"MAX_", "BODY_BYTES", "ADDRESS_", "TRANSCRIPT_BYTES", "STREAM_", "RESUME_", "HEARTBEAT", "WRITE_TIMEOUT", "HEADER_", "KEEP_ALIVE", "ON_DISCONNECT", "DRAIN_"}},
	{"Who asks", []string{"TENANT_", "PRINCIPAL_", "TRUSTED_PEERS", "JWT_", "THREAD_NAMESPACE", "SHOW_PRINCIPAL"}},
	{"The desk", []string{"DESK_", "POLICY"}},
	{"Log, audit, traces and webhook", []string{"LOG_", "AUDIT", "WEBHOOK_"}},
	{"Options of dialects", []string{""}},
}

// byTopic returns the variables of each topic, in their order.
func byTopic(list []variables.Variable) [][]variables.Variable {
	sorted := make([][]variables.Variable, len(topics))
	for _, v := range list {
		name := strings.TrimPrefix(v.Name, prefix)
		at := slices.IndexFunc(topics, func(t topic) bool {
			return slices.ContainsFunc(t.names, func(begins string) bool { return strings.HasPrefix(name, begins) })
		})
		sorted[at] = append(sorted[at], v)
	}
	return sorted
}

// printUsage is `holdpoint -h`.
func printUsage(w io.Writer, list []variables.Variable) {
	io.WriteString(w, usageHead) //nolint:errcheck // a terminal that is gone
	for n, under := range byTopic(list) {
		fmt.Fprintf(w, "\n%s\n", topics[n].heading)
		for _, v := range under {
			fmt.Fprintf(w, "\n  %s (%s)\n%s", v.Name, fallbackText(v), wrap(text(v), "      ", "      ", 100))
		}
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

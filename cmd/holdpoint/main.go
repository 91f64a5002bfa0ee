// Holdpoint is a reverse proxy for AI agents that speak AG-UI. It runs in front of an agent's
// backend. It translates the backend's own form of a pause into AG-UI interrupts, and sends the
// answers in the next run to the backend in the backend's own form.
//
// This package has the command line, the configuration and the signals. Package proxy handles runs.
// Package translate reads the events of each kind of backend. Environment variables configure the
// binary, as is usual for a container; there is no configuration file. An empty variable counts as
// unset. Sizes are bytes or have a unit (16MiB, 8MB). Durations are as Go writes them (15s, 1h30m).
//
//	holdpoint [run]     start the proxy
//	holdpoint desk      start the desk alone, for all agents that share a store
//	                    (docs/desk-many.md#one-desk-for-many-agents)
//	holdpoint check [-all]
//	                    validate the configuration, print what is set and what follows from it,
//	                    without secrets; exit 2 with every error at once; -all: print every
//	                    variable; check desk and check inject: validate the configuration of
//	                    holdpoint desk, and of holdpoint inject
//	holdpoint inject    start the webhook that adds Holdpoint as a sidecar to pods of Kubernetes
//	                    (docs/injector.md)
//	holdpoint demo      show a pause and its answer in a terminal, with a scripted backend; with -serve
//	                    keep that backend and Holdpoint running, for curl or another client; with
//	                    -desk answer a question on the desk's page, and see the run continue
//	holdpoint store schema
//	                    print the SQL that makes the tables of a PostgreSQL store, for a DBA
//	holdpoint healthcheck [live|ready|started]
//	                    ask the admin listener whether the process is live, ready or started, for
//	                    probes in an image without a shell; exit 0 if it is. The default is live
//	holdpoint drain     make the running process not ready, and wait until its streams have ended,
//	                    for preStop hooks
//	holdpoint reload    have the running process read its files again, as HUP does; exit 1 if one is
//	                    wrong
//	holdpoint audit verify [-after seq:hash] [-head seq:hash] FILE...
//	                    read the files of an audit, the oldest first, and report the lines that were
//	                    removed or changed; exit 1 if one was. -head: a head that the audit must have
//	holdpoint doctor [-json] URL|FILE|-
//	                    send one harmless run to a backend, or read the recorded answer of one, and
//	                    report how it pauses and how Holdpoint translates it (docs/doctor.md)
//	holdpoint replay [-step] FILE|-
//	                    play a scenario, or the recorded answer of a backend, and print each frame
//	                    received, each frame sent, and why, with payloads (docs/debugging.md)
//	holdpoint version   print the version
//
// # Environment
//
// docs/configuration.md has the table of all variables, which is made from the struct tags of the
// settings. holdpoint -h prints the most important ones, and holdpoint -h TOPIC those of a topic.
//
// # Signals
//
// At TERM or INT the process stops being ready. After TERM it still accepts new connections for
// HOLDPOINT_DRAIN_DELAY. Then the listener closes. Running streams continue for at most
// HOLDPOINT_DRAIN_TIMEOUT, and those that are still open then end with RUN_ERROR PROXY_DRAINING.
// The exit code is 0. A second signal ends the streams at once, in the same way, and the exit code
// is 1.
//
// At HUP it reads its files with secrets and headers again, and reopens the file of the audit log
// (docs/operations.md#files-that-are-read-again). HUP never ends the process.
//
// The interrupts are those of https://docs.ag-ui.com (AG-UI 1.0). The names that Kubernetes injects
// for a Service called holdpoint (HOLDPOINT_SERVICE_HOST, HOLDPOINT_PORT and so on) are ignored.
// Every other unknown HOLDPOINT_ name is an error.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/caarlos0/env/v11"

	"holdpoint/internal/variables"
	"holdpoint/store/stores"
	"holdpoint/translate/dialects"
)

// The exit codes of the process. It exits with exitError if a second signal cuts off streams during
// the drain, and with exitMisuse if the configuration or the command line is wrong.
const (
	exitOK     = 0
	exitError  = 1
	exitMisuse = 2
)

func main() {
	os.Exit(command(os.Args[1:], os.Environ(), dialects.All(), terminal{os.Stdin, os.Stdout, os.Stderr}))
}

// A terminal has the three standard streams of the process. They are files, so that the program can
// find out whether each of them is a real terminal, and then print colors and columns.
type terminal struct{ in, out, err *os.File }

// command runs the subcommand that args names, and returns the exit code. list has all dialects,
// with their options at the defaults.
func command(args, environ []string, list dialects.List, t terminal) int {
	if len(args) > 0 && args[0] == "audit" {
		return auditCommand(args[1:], t.out, t.err)
	}
	if len(args) > 0 && args[0] == "doctor" {
		return doctorCommand(args[1:], t)
	}
	if len(args) > 0 && args[0] == "replay" {
		return replayCommand(args[1:], t)
	}
	flags := flag.NewFlagSet("holdpoint", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	serve := flags.Bool("serve", false, "")
	atDesk := flags.Bool("desk", false, "")
	all := flags.Bool("all", false, "")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return help(flags.Args(), list, t)
	case err != nil:
		return misuse(t.err, err.Error())
	}
	name := flags.Arg(0)
	if rest := flags.Args(); len(rest) > 1 {
		switch err := flags.Parse(rest[1:]); {
		case errors.Is(err, flag.ErrHelp) && name == injectTopic:
			return help([]string{injectTopic}, list, t)
		case errors.Is(err, flag.ErrHelp):
			return help(nil, list, t)
		case err != nil:
			return misuse(t.err, err.Error())
		case name == "help":
			return help(flags.Args(), list, t)
		case name == "store" && flags.NArg() == 1 && flags.Arg(0) == "schema":
			return printSchema(environ, t.out, t.err)
		case name == "check" && flags.NArg() > 0 && (flags.Arg(0) == "desk" || flags.Arg(0) == "inject"):
			arguments := flags.Args()
			switch of := arguments[0]; {
			case flags.Parse(arguments[1:]) != nil || flags.NArg() != 0:
			case of == "inject":
				return checkInject(environ, *all, t)
			default:
				return check(environ, list, true, *all, t)
			}
			return misuse(t.err, fmt.Sprintf(textCheckArguments, arguments))
		case name == "healthcheck" && flags.NArg() == 1:
			return healthcheck(environ, flags.Arg(0), t.out, t.err)
		case name == "store":
			return misuse(t.err, fmt.Sprintf(textStoreGot, flags.Args()))
		case name == "check" && flags.NArg() > 0:
			return misuse(t.err, fmt.Sprintf(textCheckArguments, flags.Args()))
		case flags.NArg() > 0:
			return misuse(t.err, fmt.Sprintf(textNoArgument, name, flags.Arg(0)))
		}
	}
	switch {
	case *serve && name != "demo":
		return misuse(t.err, textServeOption)
	case *atDesk && name != "demo":
		return misuse(t.err, textDeskOption)
	case *all && name != "check":
		return misuse(t.err, textAllOption)
	case *serve && *atDesk:
		return misuse(t.err, textServeOrDesk)
	}
	switch name {
	case "", "run":
		return run(environ, list, false, t.err)
	case "desk":
		return run(environ, list, true, t.err)
	case "inject":
		return runInject(environ, t.err)
	case "check":
		return check(environ, list, false, *all, t)
	case "demo":
		switch {
		case *serve:
			return serveDemo(environ, t)
		case *atDesk:
			return deskDemo(environ, t)
		}
		return showDemo(environ, t)
	case "healthcheck":
		return healthcheck(environ, "live", t.out, t.err)
	case "drain":
		return drain(environ, t.out, t.err)
	case "reload":
		return requestReload(environ, t.out, t.err)
	case "version":
		printVersion(t.out)
		return exitOK
	case "help":
		return help(nil, list, t)
	}
	if name == "store" {
		return misuse(t.err, textStoreArgument)
	}
	return misuse(t.err, fmt.Sprintf(textNoCommand, name))
}

// help prints the usage if topics is empty, or else all variables of the only topic in topics.
func help(topics []string, list dialects.List, t terminal) int {
	s := newSettings(list)
	switch {
	case len(topics) == 0:
		printUsage(t.out, s)
	case len(topics) > 1 || !printTopic(t.out, s, topics[0]):
		return misuse(t.err, fmt.Sprintf(textNoTopic, strings.Join(topics, " "), strings.Join(topicWords(s), ", ")))
	}
	return exitOK
}

// printSchema runs `holdpoint store schema`. Of the environment it reads only HOLDPOINT_STORE,
// which names the database schema that has the tables. The variable may be unset.
func printSchema(environ []string, out, complaints io.Writer) int {
	var s stores.Settings
	group := variables.Group{Prefix: prefix, Options: &s}
	environment := env.ToMap(environ)
	group.Read(environment)
	text, err := s.Schema(environment[prefix+"STORE"] != "")
	if err != nil {
		fmt.Fprintf(complaints, "config: %v\n", group.ErrorFor("STORE", err))
		return exitMisuse
	}
	fmt.Fprint(out, text)
	return exitOK
}

func misuse(w io.Writer, what string) int {
	fmt.Fprintf(w, textUsage, what)
	return exitMisuse
}

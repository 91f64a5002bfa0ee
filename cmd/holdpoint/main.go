// Holdpoint is a reverse proxy for AI agents that speak AG-UI. It sits in front of an agent's
// backend. It turns the backend's way of pausing into AG-UI interrupts, and hands the answers of
// the next run to the backend in the backend's own form.
//
// This package is the binary: configuration, subcommands, signals. Package proxy has what happens
// to a run. Package translate has what a backend means by its events. The environment configures
// the binary, because that is how a container is configured. There is no configuration file. An
// empty variable counts as unset. Sizes are bytes or have a unit (16MiB, 8MB). Durations are as Go
// writes them (15s, 1h30m).
//
//	holdpoint [run]     start the proxy
//	holdpoint desk      start the desk alone, for all agents that share a store
//	                    (docs/desk-many.md#one-desk-for-many-agents)
//	holdpoint check [-all]
//	                    validate the configuration, print what is set and what follows from it,
//	                    secrets cut; exit 2 with every error at once; -all: print every variable;
//	                    check desk: that of holdpoint desk; check inject: that of holdpoint inject
//	holdpoint inject    start the webhook that adds Holdpoint as a sidecar to pods of Kubernetes
//	                    (docs/injector.md)
//	holdpoint demo      show a pause and its answer in a terminal, with a scripted backend; with -serve
//	                    keep that backend and Holdpoint running, for curl or another client; with
//	                    -desk answer a question on the desk's page, and see the run go on
//	holdpoint store schema
//	                    print the SQL that makes the tables of a PostgreSQL store, for a DBA
//	holdpoint healthcheck [live|ready|started]
//	                    ask the admin listener of the running process, for probes in an image without
//	                    a shell; exit 0 if it is. Without a word: live
//	holdpoint drain     make the running process not ready, and wait until its streams have ended,
//	                    for preStop hooks
//	holdpoint reload    have the running process read its files again, as HUP does; exit 1 if one is
//	                    wrong
//	holdpoint audit verify [-after seq:hash] [-head seq:hash] FILE...
//	                    read the files of an audit, the oldest first, and say which line was taken out
//	                    or changed; exit 1 if one was. -head: a head that the log has
//	holdpoint doctor [-json] URL|FILE|-
//	                    send one harmless run to a backend, or read the recorded answer of one, and
//	                    tell how it pauses and what Holdpoint makes of it (docs/doctor.md)
//	holdpoint replay [-step] FILE|-
//	                    play a scenario, or the recorded answer of a backend, and print each frame
//	                    that came, each that went, and why, payloads included (docs/debugging.md)
//	holdpoint version   print the version
//
// # Environment
//
// docs/configuration.md has the table of all variables, which is made from the tags of the parts'
// settings. holdpoint -h tells the most important ones, and holdpoint -h TOPIC those of a topic.
//
// # Signals
//
// On TERM or INT the process is not ready at once. On TERM it takes new connections for
// HOLDPOINT_DRAIN_DELAY. Then the listener closes. Running streams go on for
// HOLDPOINT_DRAIN_TIMEOUT at most. What is left then ends with RUN_ERROR PROXY_DRAINING. The exit
// code is 0. A second signal ends the streams at once, in the same way, and the exit code is 1.
//
// On HUP it reads its files of secrets and headers again, and reopens what it logs to
// (docs/operations.md#files-that-are-read-again). HUP never ends it.
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

// The exit codes of the process. A second signal while streams run down is an error. A wrong
// configuration or command line is a misuse.
const (
	exitOK     = 0
	exitError  = 1
	exitMisuse = 2
)

func main() {
	os.Exit(command(os.Args[1:], os.Environ(), dialects.All(), terminal{os.Stdin, os.Stdout, os.Stderr}))
}

// A terminal is the three streams of the process. They are files, because a terminal is written to
// in another form.
type terminal struct{ in, out, err *os.File }

// command runs the subcommand that args name. The list are the dialects that there are, with their
// options at the defaults.
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
		return readAgain(environ, t.out, t.err)
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

// help is `holdpoint -h`, or with a topic all variables of that.
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

// printSchema is `holdpoint store schema`. It needs no configuration: of HOLDPOINT_STORE it takes
// the schema with the tables.
func printSchema(environ []string, out, complaints io.Writer) int {
	var s stores.Settings
	group := variables.Group{Prefix: prefix, Options: &s}
	environment := env.ToMap(environ)
	group.Read(environment)
	text, err := s.Schema(environment[prefix+"STORE"] != "")
	if err != nil {
		fmt.Fprintf(complaints, "config: %v\n", group.Wrong("STORE", err))
		return exitMisuse
	}
	fmt.Fprint(out, text)
	return exitOK
}

func misuse(w io.Writer, what string) int {
	fmt.Fprintf(w, "holdpoint: %s\n\nusage: holdpoint [run|desk|inject|check|demo|store schema|audit verify|doctor|replay|healthcheck|drain|reload|version|help]\n\nholdpoint -h tells more.\n", what)
	return exitMisuse
}

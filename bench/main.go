// Holdpoint bench measures Holdpoint and other proxies on the same machine: what they cost between
// a client and a backend in CPU time, memory and delay.
//
//	go run ./bench [flags] [scenario ...]
//
// The program starts an origin (the backend), the reference proxies and a built Holdpoint, each as
// a process of its own. It loads one of them at a time, in rounds with a random order, and prints
// tables. It compares every byte of every stream with the expected byte. A stream that fails or is
// incomplete makes the measurement void. README.md explains each figure.
//
// The program uses Holdpoint only as a binary. It has no goals for absolute times, because they
// depend on the machine. The proxies in this package are for comparison, not for use. The program
// needs Linux, because it reads /proc.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

func main() {
	os.Exit(command(os.Args[1:], os.Stdout, os.Stderr))
}

// command runs the driver of the benchmark. If args begin with origin or proxy, it runs only this
// part. Each part is a process of its own. command returns the exit code.
func command(args []string, out, diag io.Writer) int {
	var err error
	switch {
	case len(args) == 1 && args[0] == "origin":
		err = serve(newOrigin())
	case len(args) == 3 && args[0] == "proxy":
		err = serveReference(args[1], args[2])
	default:
		err = drive(args, out, diag)
	}
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 2
	case err != nil:
		fmt.Fprintln(diag, "bench:", err)
		return 1
	}
	return 0
}

// settings are the values of the flags.
type settings struct {
	rounds      int
	scale       float64
	binary      string
	against     string
	check       bool
	ablation    bool
	targetNames []string // the targets to measure; empty means all
	commandLine string   // a command line that repeats the measurement
	selected    []scenario
}

// drive runs the measurements that args select.
func drive(args []string, out, diag io.Writer) error {
	s, err := parse(args, diag)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	b, err := newBench(ctx, s, out, diag)
	if err != nil {
		return err
	}
	defer b.close()
	if s.ablation {
		return b.ablation()
	}
	if s.check {
		if err := b.check(); err != nil {
			return err
		}
		if err := b.checkDesk(); err != nil {
			return err
		}
		if err := b.checkStores(); err != nil {
			return err
		}
		return b.checkWorst()
	}
	for _, one := range s.selected {
		if err := one.measure(b); err != nil {
			return fmt.Errorf("%s: %w", one.name, err)
		}
		b.report.flush(out)
	}
	b.report.goals(out)
	return nil
}

func parse(args []string, diag io.Writer) (settings, error) {
	s := settings{commandLine: strings.TrimSpace("go run ./bench " + strings.Join(args, " "))}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(diag)
	flags.IntVar(&s.rounds, "rounds", 0, "rounds of each measurement (each scenario has a number of its own)")
	flags.Float64Var(&s.scale, "scale", 1, "how much of the load: 0.1 is quick and rough")
	flags.StringVar(&s.binary, "binary", "", "the Holdpoint to measure (built from here)")
	flags.StringVar(&s.against, "against", "", "another Holdpoint binary, measured beside it")
	flags.BoolVar(&s.check, "check", false, "measure the blast of ReverseProxy and Holdpoint, runs beside a desk, the stores with more threads and the worst inputs only, and fail if they are far from their goals")
	flags.BoolVar(&s.ablation, "ablation", false, "measure builds that leave one mechanism out each, beside the ordinary one")
	only := flags.String("targets", "", "only these targets, with commas between them")
	flags.Usage = func() {
		fmt.Fprint(diag, "usage: go run ./bench [flags] [scenario ...]\n\nscenarios, all of them if none is named; blast is all that begin so:\n")
		for _, one := range scenarios() {
			fmt.Fprintf(diag, "  %-22s %s\n", one.name, one.description)
		}
		fmt.Fprintf(diag, "\ntargets: %s\n\nflags:\n", strings.Join(kindNames(), ", "))
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if s.scale <= 0 || s.rounds < 0 {
		return s, fmt.Errorf("-scale %v -rounds %d: want more than 0", s.scale, s.rounds)
	}
	if *only != "" {
		s.targetNames = strings.Split(*only, ",")
	}
	for _, name := range s.targetNames {
		if !slices.Contains(kindNames(), name) {
			return s, fmt.Errorf("no target %q, want one of %s", name, strings.Join(kindNames(), ", "))
		}
	}
	s.selected = scenarios()
	if flags.NArg() > 0 {
		s.selected = nil
	}
	for _, name := range flags.Args() {
		before := len(s.selected)
		for _, one := range scenarios() {
			if one.name == name || strings.HasPrefix(one.name, name+"-") {
				s.selected = append(s.selected, one)
			}
		}
		if len(s.selected) == before {
			return s, fmt.Errorf("no scenario %q", name)
		}
	}
	return s, nil
}

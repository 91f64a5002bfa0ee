package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"holdpoint/cmd/holdpoint/internal/doctor"
	"holdpoint/cmd/holdpoint/internal/replay"
	"holdpoint/internal/scenario"
	"holdpoint/proxy"
	"holdpoint/store"
	"holdpoint/store/memory"
	"holdpoint/translate/auto"
	"holdpoint/translate/dialects"
)

// replayFlags has the options of holdpoint replay.
type replayFlags struct {
	step    bool
	request string
	set     map[string]string
}

// replayCommand runs `holdpoint replay`. It reads no environment variables of the process, so that
// its output is the same everywhere. It returns 0 if everything was played, even if runs failed,
// and 2 if there was nothing to play.
func replayCommand(args []string, t terminal) int {
	f := replayFlags{set: map[string]string{}}
	flags := flag.NewFlagSet("replay", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.BoolVar(&f.step, "step", false, "")
	flags.StringVar(&f.request, "request", "", "")
	flags.Func("set", "", func(pair string) error {
		name, value, ok := strings.Cut(pair, "=")
		if f.set[name] = value; !ok {
			return errors.New(textSet)
		}
		return nil
	})
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintln(t.out, replayUsage)
		return exitOK
	case err == nil && flags.NArg() != 1:
		err = fmt.Errorf(textReplayArguments, flags.NArg())
	case err == nil && f.step && flags.Arg(0) == "-":
		err = errors.New(textReplayStep)
	}
	if err != nil {
		fmt.Fprintf(t.err, "holdpoint: %v\n\n%s\n", err, replayUsage)
		return exitMisuse
	}
	if err = f.play(flags.Arg(0), t); err != nil {
		fmt.Fprintln(t.err, "holdpoint: replay:", err)
		return exitMisuse
	}
	return exitOK
}

// play plays the scenario or the recorded answer that source names.
func (f *replayFlags) play(source string, t terminal) error {
	o, remove, err := f.read(source, t.in)
	defer remove()
	if err != nil {
		return err
	}
	o.Out = t.out
	if f.step {
		lines := bufio.NewReader(t.in)
		fmt.Fprintln(t.err, textEnter)
		o.Step = func() error { _, err := lines.ReadString('\n'); return err }
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err = replay.Run(ctx, o); f.step && errors.Is(err, io.EOF) {
		return nil // the user closed the input to stop
	}
	return err
}

// read reads the scenario or the recorded answer that source names. The caller must call remove,
// also after an error: it deletes the files that read has made.
func (f *replayFlags) read(source string, in io.Reader) (o replay.Options, remove func(), err error) {
	remove = func() {}
	env := map[string]string{prefix + "UPSTREAM": "http://backend"}
	switch {
	case !strings.HasSuffix(source, scenario.Ext):
		err = f.readAnswer(source, in, &o)
	case f.request != "":
		err = errors.New(textReplayRequest)
	default:
		remove, err = readScenario(source, &o, env)
	}
	maps.Copy(env, f.set)
	o.Store = func(now func() time.Time) store.Store { return memory.New(memory.Options{Now: now}) }
	o.Holdpoint = func(parts replay.Parts) (http.Handler, error) { return f.holdpoint(env, parts) }
	return o, remove, err
}

// readScenario reads the turns of a scenario into o, and its variables into env. Variables may name
// files, which readScenario makes; the function remove deletes them.
func readScenario(path string, o *replay.Options, env map[string]string) (remove func(), err error) {
	remove = func() {}
	s, err := scenario.Read(path)
	if err != nil {
		return remove, err
	}
	for turn := 1; turn <= s.Turns; turn++ {
		one := replay.Turn{Request: s.Part(scenario.Request(turn)), Wait: s.Wait[turn], Restart: turn == s.Restart}
		for _, part := range s.Answers(turn) {
			one.Answers = append(one.Answers, scenario.ReadAnswer(part))
		}
		o.Turns = append(o.Turns, one)
	}
	o.Clock, o.IDs = s.Clock, s.IDs
	var dir string
	variables, err := s.WithFiles(func() string {
		var made string
		if made, err = os.MkdirTemp("", "holdpoint-replay-"); err == nil {
			dir = made
			remove = func() { _ = os.RemoveAll(dir) }
		}
		return made
	})
	maps.Copy(env, variables)
	return remove, err
}

// readAnswer reads the recorded answer of a backend into o, together with the request of -request.
// If -request is not set, it makes a request that fits the answer.
func (f *replayFlags) readAnswer(source string, in io.Reader, o *replay.Options) error {
	var a doctor.Answer
	var err error
	if source == "-" {
		a, err = doctor.Read(in)
	} else {
		a, err = readRecording(source)
	}
	if err != nil {
		return err
	}
	if len(a.Body) == 0 && a.Status == 0 {
		return errors.New(textReplayEmpty)
	}
	answer := scenario.Response{Status: a.Status, Header: a.Header, Body: a.Body, Cut: a.Incomplete}
	if answer.Status == 0 {
		answer.Status = http.StatusOK
	}
	turn := replay.Turn{Answers: []scenario.Response{answer}, Request: replay.RequestFor(a.Body)}
	if f.request != "" {
		if turn.Request, err = os.ReadFile(f.request); err != nil {
			return fmt.Errorf("-request: %w", err)
		}
	}
	o.Turns = []replay.Turn{turn}
	return nil
}

// holdpoint returns a Holdpoint with the variables in env. The Holdpoint uses parts in place of a
// real backend, store, clock and maker of ids. If the user steps through the stream, the idle
// timeout of the stream is off.
func (f *replayFlags) holdpoint(env map[string]string, parts replay.Parts) (http.Handler, error) {
	var environ []string
	for name, value := range env {
		environ = append(environ, name+"="+value)
	}
	c, err := load(environ, dialects.All())
	if err != nil {
		return nil, err
	}
	o, err := newHandlerMaker(c, parts.Store, slog.New(slog.DiscardHandler)).options(&c.agent)
	if err != nil {
		return nil, err
	}
	o.Transport, o.Store, o.Now, o.NewID = parts.Backend, parts.Store, parts.Now, parts.NewID
	o.Logger, o.RunEnded = parts.Logger, parts.RunEnded
	o.Heartbeat = 0
	if f.step {
		o.IdleTimeout = 0
	}
	if finds, is := o.Dialect.(*auto.Dialect); is {
		finds.OnClaim = parts.Claimed
	}
	return proxy.New(o)
}

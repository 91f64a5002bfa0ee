package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/caarlos0/env/v11"

	"holdpoint/cmd/holdpoint/internal/demo"
	"holdpoint/store/memory"
	"holdpoint/translate/dialects"
)

// showDemo runs `holdpoint demo`. It ignores Holdpoint's variables in the environment, so that the
// demonstration is the same everywhere.
func showDemo(environ []string, t terminal) int {
	o := demo.Options{Out: t.out, Holdpoint: demoHandler}
	if _, is := terminalWidth(t.in); is {
		o.In = t.in
	}
	if columns, is := terminalWidth(t.out); is {
		o.Width, o.Color = columns, takesColor(environ)
	}
	if err := demo.Run(context.Background(), o); err != nil {
		fmt.Fprintln(t.err, "holdpoint:", err)
		return exitError
	}
	return exitOK
}

// serveDemo runs `holdpoint demo -serve`. Of Holdpoint's variables it reads HOLDPOINT_LISTEN only,
// so that the user can choose another port.
func serveDemo(environ []string, t terminal) int {
	listen := env.ToMap(environ)[prefix+"LISTEN"]
	listen = cmp.Or(listen, "127.0.0.1:7080") // by default, only this machine can reach it
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		fmt.Fprintf(t.err, textDemoServe, err, prefix)
		return exitError
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := demo.Serve(ctx, demo.Options{Out: t.out, Holdpoint: demoHandler}, listener); err != nil {
		fmt.Fprintln(t.err, "holdpoint:", err)
		return exitError
	}
	return exitOK
}

// deskDemo runs `holdpoint demo -desk`. Of Holdpoint's variables it reads HOLDPOINT_DESK_LISTEN
// only.
func deskDemo(environ []string, t terminal) int {
	failed := func(err error) int {
		fmt.Fprintln(t.err, "holdpoint: demo -desk:", err)
		return exitError
	}
	at := env.ToMap(environ)[prefix+"DESK_LISTEN"]
	at = cmp.Or(at, "127.0.0.1:7082") // by default, only this machine can reach it
	logger := slog.New(slog.DiscardHandler)
	kept := memory.New(memory.Options{})
	var c *settings
	var made *handlerMaker
	var agents []servedAgent
	o := demo.Options{Out: t.out, Holdpoint: func(upstream string) (http.Handler, error) {
		var err error
		if c, err = load([]string{prefix + "UPSTREAM=" + upstream, prefix + "NAME=demo", prefix + "DESK_LISTEN=" + at}, dialects.All()); err != nil {
			return nil, err
		}
		made = newHandlerMaker(c, kept, logger)
		h, err := made.proxyFor(&c.agent)
		agents = []servedAgent{{Agent: &c.agent, handler: h}}
		return h, err
	}}
	if columns, is := terminalWidth(t.out); is {
		o.Width, o.Color = columns, takesColor(environ)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	var p *program
	defer func() {
		if p != nil {
			p.stop()
		}
	}()
	var err error
	shown := demo.Desk(ctx, o, func() {
		p = &program{settings: c, logger: logger, screen: t.out}
		if err = p.startDesk(made, agents, p.startCarrier(made, kept, agents)); err != nil {
			stop()
			return
		}
		fmt.Fprintln(t.out, textOpenPage)
	})
	switch {
	case err != nil:
		return failed(fmt.Errorf(textDemoDesk, err, prefix))
	case errors.Is(shown, context.Canceled):
		return exitOK
	case shown != nil:
		return failed(shown)
	}
	return exitOK
}

// demoHandler returns a Holdpoint in front of upstream, with every other setting at its default.
func demoHandler(upstream string) (http.Handler, error) {
	c, err := load([]string{prefix + "UPSTREAM=" + upstream}, dialects.All())
	if err != nil {
		return nil, err
	}
	return newHandlerMaker(c, memory.New(memory.Options{}), slog.New(slog.DiscardHandler)).proxyFor(&c.agent)
}

// takesColor reports whether the environment allows colored output (https://no-color.org).
func takesColor(environ []string) bool {
	set := env.ToMap(environ)
	return set["NO_COLOR"] == "" && set["TERM"] != "dumb"
}

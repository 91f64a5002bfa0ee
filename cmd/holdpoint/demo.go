package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/caarlos0/env/v11"

	"holdpoint/cmd/holdpoint/internal/demo"
)

// showDemo is `holdpoint demo`. Its Holdpoint has one variable and none of the caller's environment, so that it shows
// the same everywhere.
func showDemo(environ []string, t terminal) int {
	o := demo.Options{Out: t.out, Holdpoint: func(upstream string) (http.Handler, error) {
		c, err := load([]string{prefix + "UPSTREAM=" + upstream})
		if err != nil {
			return nil, err
		}
		return newHandler(c, slog.New(slog.DiscardHandler))
	}}
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

// takesColor says whether a terminal may be sent colours (https://no-color.org).
func takesColor(environ []string) bool {
	set := env.ToMap(environ)
	return set["NO_COLOR"] == "" && set["TERM"] != "dumb"
}

package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"text/tabwriter"

	"holdpoint/translate/dialects"
)

// check runs `holdpoint check`, or `holdpoint check desk` if deskOnly is set. If the settings have
// errors, it prints all of them. Otherwise it prints the settings and the warnings that a start
// would log. If all is set, it also prints the variables that are at their defaults.
func check(environ []string, list dialects.List, deskOnly, all bool, t terminal) int {
	s, err := loadFor(environ, list, deskOnly, os.DirFS("/"))
	if err != nil {
		fmt.Fprintln(t.err, err)
		return exitMisuse
	}
	w := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	for _, one := range s.settings() {
		if all || !one.isDefault && !one.inherited && one.derivedFrom == "" {
			fmt.Fprintf(w, "%s\t%s\n", one.name, one)
		}
	}
	w.Flush()
	for _, a := range s.agents() {
		_, err = a.dialects.New(a.Dialect, func(msg string, args ...any) {
			fmt.Fprintf(t.out, "warning: %s %v\n", msg, args)
		})
		if err != nil {
			fmt.Fprintln(t.err, err)
			return exitMisuse
		}
	}
	follows := slog.New(sentenceHandler{t.out})
	s.memory.logStart(follows)
	warnOrigins(s, follows)
	logIdentification(s, follows)
	s.store.LogStart(follows)
	s.desk.LogStart(s.identity.TrustedPeers, follows)
	s.warnBounds(follows)
	for _, name := range s.ignored {
		fmt.Fprintf(t.out, textIgnored, name)
	}
	return exitOK
}

// sentenceHandler is a slog.Handler that prints log messages for a person. It drops the attributes,
// and begins the lines of warnings with "warning: ".
type sentenceHandler struct{ out io.Writer }

// Enabled implements slog.Handler.
func (s sentenceHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo
}

// Handle implements slog.Handler.
func (s sentenceHandler) Handle(_ context.Context, r slog.Record) error {
	kind := ""
	if r.Level >= slog.LevelWarn {
		kind = "warning: "
	}
	_, err := fmt.Fprintf(s.out, "%s%s\n", kind, r.Message)
	return err
}

// WithAttrs implements slog.Handler.
func (s sentenceHandler) WithAttrs([]slog.Attr) slog.Handler { return s }

// WithGroup implements slog.Handler.
func (s sentenceHandler) WithGroup(string) slog.Handler { return s }

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"holdpoint/internal/event"
	"holdpoint/internal/observe/audit"
	"holdpoint/proxy"
	"holdpoint/store"
)

// An auditTarget is HOLDPOINT_AUDIT: off, stdout, or the file's path behind file://.
type auditTarget string

const (
	auditOff    = "off"
	auditStdout = "stdout"
)

// UnmarshalText reads one of the three.
func (a *auditTarget) UnmarshalText(text []byte) error {
	*a = auditTarget(text)
	if *a == auditOff || *a == auditStdout {
		return nil
	}
	u, err := url.Parse(string(text))
	switch {
	case err != nil || u.Scheme != "file":
		return errors.New("want off, stdout or a file such as file:///var/log/holdpoint/audit.jsonl")
	case u.Host != "" || u.Opaque != "" || u.RawQuery != "" || u.Fragment != "" || u.Path == "" || u.Path == "/":
		return errors.New("want the file's whole path behind three slashes, such as file:///var/log/holdpoint/audit.jsonl")
	}
	return nil
}

// String is the form that is read.
func (a auditTarget) String() string { return string(a) }

// path is the file's, "" if it is none.
func (a auditTarget) path() string {
	if a == auditOff || a == auditStdout {
		return ""
	}
	u, err := url.Parse(string(a))
	if err != nil {
		return "" // UnmarshalText has judged it
	}
	return filepath.FromSlash(u.Path)
}

// An auditPayload is HOLDPOINT_AUDIT_PAYLOAD: a bool, or none.
type auditPayload string

const (
	payloadNone  auditPayload = "none"
	payloadFalse auditPayload = "false"
	payloadTrue  auditPayload = "true"
)

// UnmarshalText reads one of the three.
func (a *auditPayload) UnmarshalText(text []byte) error {
	if *a = auditPayload(text); *a == payloadNone {
		return nil
	}
	b, err := strconv.ParseBool(string(text))
	if err != nil {
		return errors.New("want true, false or none")
	}
	if *a = payloadFalse; b {
		*a = payloadTrue
	}
	return nil
}

// String is the form that is read.
func (a auditPayload) String() string { return string(a) }

// checkAudit judges what belongs to HOLDPOINT_AUDIT.
func (c *config) checkAudit(wrong func(name string, err error)) {
	if c.Audit != auditOff {
		return
	}
	if c.AuditRequired {
		wrong("AUDIT_REQUIRED", errors.New("there is no audit, want HOLDPOINT_AUDIT set as well"))
	}
	if c.AuditPayload != payloadFalse {
		wrong("AUDIT_PAYLOAD", errors.New("there is no audit, want HOLDPOINT_AUDIT set as well"))
	}
}

// openAudit opens the audit that c describes, nil if there is none.
func (c *config) openAudit(logger *slog.Logger) (*audit.Log, error) {
	if c.Audit == auditOff {
		return nil, nil
	}
	return audit.Open(audit.Options{
		Path: c.Audit.path(), Writer: os.Stdout, Sync: c.AuditRequired, Logger: logger,
		Payload: c.AuditPayload == payloadTrue, NoComments: c.AuditPayload == payloadNone,
	})
}

// sinks are all that hear of events.
func (c *config) sinks() event.Sink {
	all := event.Sinks{c.metrics}
	if c.audit != nil {
		all = append(all, c.audit)
	}
	return all
}

// endedByTime is engine.Options.Ended: it tells the event of a pause that only time has ended.
func (c *config) endedByTime() func(store.Key, *store.Result) {
	to := c.sinks()
	return func(key store.Key, result *store.Result) {
		if e := proxy.EndedByTime(key, result); e != nil {
			_ = to.Take(e) // who cannot take it says so
		}
	}
}

// auditHeadEvery is how often the head of the audit goes to the log, if it has moved.
const auditHeadEvery = time.Minute

// watchAudit logs the head of the audit at intervals until stop is closed. Whoever writes a file
// anew cannot write the log anew as well.
func watchAudit(log *audit.Log, logger *slog.Logger, every time.Duration, stop <-chan struct{}) {
	if log == nil {
		return
	}
	t := time.NewTicker(every)
	defer t.Stop()
	var told audit.Head
	for {
		told = logHead(log, logger, told)
		select {
		case <-t.C:
		case <-stop:
			return
		}
	}
}

// logHead logs the head of the audit if it is another one than was told.
func logHead(log *audit.Log, logger *slog.Logger, told audit.Head) audit.Head {
	head := log.Head()
	if head != told {
		logger.Info("audit head", "head", head.String(), "failed", head.Failed)
	}
	return head
}

// closeAudit ends the audit and logs where it has ended.
func closeAudit(log *audit.Log, logger *slog.Logger) {
	if log == nil {
		return
	}
	logHead(log, logger, audit.Head{})
	if err := log.Close(); err != nil {
		logger.Error("the audit did not close well", "err", err)
	}
}

// auditCommand is `holdpoint audit`. It exits with 0 if the chain is whole, 1 if it is not, and 2
// if it could not be asked.
func auditCommand(args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 || args[0] != "verify" {
		return misuse(stderr, "audit takes verify and files")
	}
	flags := flag.NewFlagSet("holdpoint audit verify", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	texts := map[string]*string{"head": flags.String("head", "", ""), "after": flags.String("after", "", "")}
	if err := flags.Parse(args[1:]); err != nil {
		return misuse(stderr, err.Error())
	}
	if flags.NArg() == 0 {
		return misuse(stderr, "audit verify takes the files of a chain, the oldest first")
	}
	var kept audit.Kept
	for name, into := range map[string]**audit.Head{"head": &kept.Head, "after": &kept.After} {
		if text := *texts[name]; text != "" {
			h, err := audit.ParseHead(text)
			if err != nil {
				return misuse(stderr, fmt.Sprintf("-%s %q: %v", name, text, err))
			}
			*into = &h
		}
	}
	report, err := audit.Verify(flags.Args(), kept)
	if err != nil {
		fmt.Fprintf(stderr, "holdpoint: %v\n", err)
		return exitMisuse
	}
	for _, note := range report.Notes {
		fmt.Fprintf(stdout, "note: %s\n", note)
	}
	for _, problem := range report.Problems {
		fmt.Fprintf(stdout, "problem: %s\n", problem)
	}
	if len(report.Problems) > 0 {
		fmt.Fprintf(stdout, "%d lines, head %s: not whole, %d problems\n", report.Lines, report.Head, len(report.Problems))
		return exitError
	}
	fmt.Fprintf(stdout, "%d lines, head %s: whole\n", report.Lines, report.Head)
	return exitOK
}

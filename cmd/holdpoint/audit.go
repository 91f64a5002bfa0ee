package main

import (
	"flag"
	"fmt"
	"io"

	"holdpoint/internal/observe/audit"
)

// auditCommand runs `holdpoint audit`. It returns 0 if no line of the audit was changed or removed,
// 1 if one was, and 2 if the audit could not be checked.
func auditCommand(args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 || args[0] != "verify" {
		return misuse(stderr, textAuditCommand)
	}
	flags := flag.NewFlagSet("holdpoint audit verify", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	texts := map[string]*string{"head": flags.String("head", "", ""), "after": flags.String("after", "", "")}
	if err := flags.Parse(args[1:]); err != nil {
		return misuse(stderr, err.Error())
	}
	if flags.NArg() == 0 {
		return misuse(stderr, textAuditFiles)
	}
	var kept audit.StoredHeads
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
		fmt.Fprintf(stdout, textAuditBroken, report.Lines, report.Head, len(report.Problems))
		return exitError
	}
	fmt.Fprintf(stdout, "%d lines, head %s: whole\n", report.Lines, report.Head)
	return exitOK
}

package doctor

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Print writes the report as text for a person.
func (r *Report) Print(to io.Writer) error {
	var text bytes.Buffer
	r.print(&text)
	_, err := to.Write(text.Bytes())
	return err
}

func (r *Report) print(w io.Writer) {
	fmt.Fprintf(w, "verdict     %s\n", r.Verdict.words())
	fmt.Fprintf(w, "answer      %s\n", r.Answer.line())
	switch {
	case r.Dialect != "":
		fmt.Fprintf(w, "dialect     %s (HOLDPOINT_DIALECT=%s)\n", r.Dialect, r.Setting)
	case r.Verdict != NoStream:
		fmt.Fprintln(w, labelNoDialect)
	}
	if r.Framework.Name != "" {
		fmt.Fprintf(w, "framework   %s: %s\n", r.Framework.Name, strings.Join(r.Framework.Marks, "; "))
		version := r.Framework.Versions
		version = cmp.Or(version, labelNotShown)
		fmt.Fprintf(w, "version     %s\n", version)
	}
	if r.Client != "" {
		fmt.Fprintf(w, "client      %s\n", r.Client)
	}
	for _, q := range r.Questions {
		fmt.Fprintf(w, "question    %s\n", q.line())
	}
	r.printEvents(w)
	for _, c := range r.Failures {
		fmt.Fprintf(w, "cannot      %s\n", c)
	}
	for _, n := range r.Notes {
		fmt.Fprintf(w, "note        %s\n", n)
	}
	r.Support.print(w)
}

func (v Verdict) words() string {
	switch v {
	case CanTranslate:
		return verdictKeeps
	case Plain:
		return verdictPlain
	case CannotTranslate:
		return verdictCannot
	}
	return verdictNothing
}

func (d AnswerSummary) line() string {
	var parts []string
	if d.Status != 0 {
		parts = append(parts, fmt.Sprintf("HTTP %d", d.Status))
	}
	for _, s := range []string{d.MediaType, d.Server} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	if d.Location != "" {
		parts = append(parts, "to "+d.Location)
	}
	parts = append(parts, fmt.Sprintf("%d bytes", d.Bytes), fmt.Sprintf("%d events", d.Events))
	switch {
	case d.Cut:
		parts = append(parts, labelCutOff)
	case d.End == "none":
		parts = append(parts, labelNoTerminal)
	case d.End != "":
		parts = append(parts, fmt.Sprintf(labelEndsWith, d.End))
	}
	return strings.Join(parts, ", ")
}

func (q Question) line() string {
	line := q.Reason
	if q.Tool != "" {
		line += ", tool " + q.Tool
	}
	if q.Schema {
		return line + labelWithSchema
	}
	return line + notSchemaQuestion
}

func (r *Report) printEvents(w io.Writer) {
	if len(r.Events) == 0 {
		return
	}
	fmt.Fprintln(w, labelEvents)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "  type\tname\tcame\tpassed\trewritten\tdropped\tmade")
	for _, c := range r.Events {
		fmt.Fprintf(t, "  %s\t%s\t%d\t%d\t%d\t%d\t%d\n", c.Type, c.Name, c.Received, c.Passed, c.Rewritten, c.Dropped, c.Created)
	}
	t.Flush()
}

func (p *SupportedPart) print(w io.Writer) {
	if p == nil {
		return
	}
	fmt.Fprintf(w, "support     %s says:\n", p.Page)
	if p.About != "" {
		fmt.Fprintf(w, "  %s\n", p.About)
	}
	for _, k := range p.Packages {
		fmt.Fprintf(w, "  %s %s: %s\n", k.Name, k.Versions, k.Tested)
	}
	for _, l := range p.Limits {
		fmt.Fprintf(w, labelDoesNotWork, l)
	}
}

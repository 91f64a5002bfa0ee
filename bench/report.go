package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// A report is the output for the reader. It has tables in Markdown, in the order of the
// measurements, and then the goals.
type report struct {
	text        strings.Builder
	goalResults []goal
}

// A goal is a limit with the value that was measured.
type goal struct {
	number      int // the goal's number in the list of README.md
	description string
	value       float64
	limit       float64
	isMinimum   bool // value must be at least limit; if false, at most limit
}

func (g goal) isMet() bool {
	return g.isMinimum && g.value >= g.limit || !g.isMinimum && g.value <= g.limit
}

func (g goal) String() string {
	sign, verdict := "≤", "met"
	if g.isMinimum {
		sign = "≥"
	}
	if !g.isMet() {
		verdict = "**not met**"
	}
	return fmt.Sprintf("| %d | %s | %s %s | %s | %s |", g.number, g.description, sign, short3(g.limit), short3(g.value), verdict)
}

func (r *report) title(format string, args ...any) {
	fmt.Fprintf(&r.text, "\n### "+format+"\n\n", args...)
}

func (r *report) line(format string, args ...any) {
	fmt.Fprintf(&r.text, format+"\n", args...)
}

// table adds a table. The first column is text, and the other columns are numbers.
func (r *report) table(head []string, rows [][]string) {
	r.line("| %s |", strings.Join(head, " | "))
	r.line("|---|%s", strings.Repeat("---:|", len(head)-1))
	for _, row := range rows {
		r.line("| %s |", strings.Join(row, " | "))
	}
}

// noteMissingTarget adds a line which says that a target is not in the tables, and why.
func (r *report) noteMissingTarget(k kind, why error) {
	r.line("\n**%s is left out: %v.**", k.name, why)
}

// atLeast and atMost add a goal: got must be at least limit, or at most limit.
func (r *report) atLeast(number int, got, limit float64, what string, args ...any) {
	r.goalResults = append(r.goalResults, goal{number, fmt.Sprintf(what, args...), got, limit, true})
}

func (r *report) atMost(number int, got, limit float64, what string, args ...any) {
	r.goalResults = append(r.goalResults, goal{number, fmt.Sprintf(what, args...), got, limit, false})
}

// flush prints the tables that are finished, because a whole benchmark takes minutes.
func (r *report) flush(w io.Writer) {
	fmt.Fprint(w, r.text.String())
	r.text.Reset()
}

// goals prints all goals that were measured, in the order of their numbers.
func (r *report) goals(w io.Writer) {
	slices.SortStableFunc(r.goalResults, func(a, b goal) int { return a.number - b.number })
	r.title("Goals")
	r.line("| # | what | goal | measured | |")
	r.line("|---|---|---:|---:|---|")
	for _, g := range r.goalResults {
		r.line("%s", g)
	}
	r.flush(w)
}

// Package newest tests Holdpoint with the newest packages of the registries. The other tests use
// pinned versions.
//
// Each row is one backend or client. The newest versions of its packages are looked up first. If
// they are the pinned versions, nothing is installed, because the other tests run them. Otherwise
// the packages are installed and tested by a short smoke test: a pause, an approval, a denial. The
// result of each row is one line. A bad result does not fail a test, because a registry may be down
// and a new release may be broken. All rows together have a time limit. If no time is left for a
// row, its line reports this.
package newest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// A Row is one backend or client.
type Row struct {
	Name string
	// Packages are the packages whose versions are compared. Pinned has the version of each package
	// that the other tests use.
	Packages []string
	Pinned   map[string]string
}

// A Verdict is the result of one step of the smoke test. Failed is the failure, or "" if the step
// succeeded.
type Verdict struct{ Step, Failed string }

// Steps are the steps of a smoke test, in order.
var Steps = []string{"pause", "approve", "deny"}

// A Try tries rows. Its functions look up, install and test the packages of a row.
type Try struct {
	// Lookup returns the newest version of each of the row's packages.
	Lookup func(context.Context, Row) (map[string]string, error)
	// Install installs the versions in found. It returns the folder or the interpreter that Smoke
	// gets as its parameter at.
	Install func(ctx context.Context, row Row, found map[string]string) (string, error)
	// Smoke runs the steps and returns their results. It returns an error if the steps could not
	// run.
	Smoke func(ctx context.Context, row Row, at string) ([]Verdict, error)
	// All: true means that a row is tested even if its newest versions are the pinned versions.
	All bool
	// Budget is the time for all rows.
	Budget time.Duration
}

// Lines tries the rows in order, and calls say with the line of each row.
func (t Try) Lines(ctx context.Context, rows []Row, say func(string)) {
	ctx, cancel := context.WithTimeout(ctx, t.Budget)
	defer cancel()
	for _, row := range rows {
		say("newest: " + t.line(ctx, row))
	}
}

func (t Try) line(ctx context.Context, row Row) string {
	late := func(said string, err error) string {
		if ctx.Err() != nil {
			return said + ": not run: the budget of " + t.Budget.String() + " is over"
		}
		return said + ": " + first(err)
	}
	if ctx.Err() != nil {
		return late(row.Name, nil)
	}
	found, err := t.Lookup(ctx, row)
	if err != nil {
		return late(row.Name, fmt.Errorf("not run: the registry does not say what is newest: %w", err))
	}
	other := slices.DeleteFunc(slices.Clone(row.Packages), func(p string) bool { return found[p] == row.Pinned[p] })
	said := row.told(found, other)
	if len(other) == 0 && !t.All {
		return said + ": that is pinned, and tested by the other tests"
	}
	at, err := t.Install(ctx, row, found)
	if err != nil {
		return late(said, fmt.Errorf("RED: does not install: %w", err))
	}
	verdicts, err := t.Smoke(ctx, row, at)
	if err != nil {
		return late(said, fmt.Errorf("RED: does not start: %w", err))
	}
	return said + ": " + told(verdicts)
}

// told names the row and the packages that have a newer version, each with the newest and the
// pinned version. other is the list of these packages. If it is empty, told names the first package
// of the row.
func (r Row) told(found map[string]string, other []string) string {
	if len(other) == 0 {
		return fmt.Sprintf("%s: %s %s", r.Name, r.Packages[0], found[r.Packages[0]])
	}
	list := make([]string, len(other))
	for n, p := range other {
		list[n] = fmt.Sprintf("%s %s (pinned %s)", p, found[p], r.Pinned[p])
	}
	return r.Name + ": " + strings.Join(list, ", ")
}

// told formats the results of the steps as text. The text begins with "RED: " unless every step ran
// and succeeded.
func told(verdicts []Verdict) string {
	list, red := make([]string, 0, len(Steps)), ""
	by := map[string]string{}
	for _, v := range verdicts {
		by[v.Step] = v.Failed
	}
	for _, step := range Steps {
		switch failed, ran := by[step]; {
		case !ran:
			red = "RED: "
			list = append(list, step+" not run")
		case failed != "":
			red = "RED: "
			list = append(list, step+" FAILED ("+failed+")")
		default:
			list = append(list, step+" ok")
		}
	}
	return red + strings.Join(list, ", ")
}

// longest is the maximum length of an error's text in a line, in bytes.
const longest = 200

// first returns the first line of an error's text, cut to longest bytes.
func first(err error) string {
	line, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	if len(line) > longest {
		line = line[:longest] + "…"
	}
	return line
}

// Requirements parses a requirements file of pip. It returns the pinned version of each package, by
// the name that Normal returns.
func Requirements(text string) map[string]string {
	pins := map[string]string{}
	for line := range strings.Lines(text) {
		if name, version, ok := strings.Cut(strings.TrimSpace(line), "=="); ok {
			pins[Normal(name)] = version
		}
	}
	return pins
}

// Normal returns the normalized name of a Python package: in lower case, with hyphens, and without
// extras in brackets.
func Normal(name string) string {
	name, _, _ = strings.Cut(name, "[")
	return strings.ToLower(strings.NewReplacer("_", "-", ".", "-").Replace(strings.TrimSpace(name)))
}

// Report parses the output of pip install --dry-run --report.
func Report(text []byte, packages []string) (map[string]string, error) {
	var report struct {
		Install []struct {
			Metadata struct{ Name, Version string }
		}
	}
	if err := json.Unmarshal(text, &report); err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, one := range report.Install {
		found[Normal(one.Metadata.Name)] = one.Metadata.Version
	}
	for _, p := range packages {
		if found[p] == "" {
			return nil, fmt.Errorf("no version of %s", p)
		}
	}
	maps.DeleteFunc(found, func(p, _ string) bool { return !slices.Contains(packages, p) })
	return found, nil
}

// Verdicts parses the output of go test -v. test is the name of a test that has a subtest for each
// step.
func Verdicts(output, test string) ([]Verdict, error) {
	var list []Verdict
	said := map[string]string{}
	step := ""
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "=== RUN   "+test+"/"); ok {
			step = name
			continue
		}
		if result, rest, ok := strings.Cut(line, ": "+test+"/"); ok && strings.HasPrefix(result, "--- ") {
			name, _, _ := strings.Cut(rest, " ")
			v := Verdict{Step: name}
			if result != "--- PASS" {
				v.Failed = said[name]
				if v.Failed == "" {
					v.Failed = strings.ToLower(strings.TrimPrefix(result, "--- "))
				}
			}
			list = append(list, v)
			continue
		}
		// t.Error prints a line like "file.go:12: text".
		if file, text, ok := strings.Cut(line, ".go:"); ok && step != "" && said[step] == "" && !strings.Contains(file, " ") {
			if _, text, ok = strings.Cut(text, ": "); ok {
				said[step] = first(errors.New(text))
			}
		}
	}
	if len(list) == 0 {
		return nil, errors.New(Why(output))
	}
	return list, nil
}

// Why returns the line of a command's output that best describes its failure: the conflict that pip
// reports, or the last line that is not empty.
func Why(output string) string {
	why := "it said nothing"
	for line := range strings.Lines(output) {
		switch line = strings.TrimSpace(line); {
		case strings.Contains(line, " depends on ") || strings.Contains(line, "No matching distribution"):
			return line
		case line != "" && line != "FAIL" && !strings.HasPrefix(line, "exit status"):
			why = line
		}
	}
	return why
}

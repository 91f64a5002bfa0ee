// Package newest tries the newest packages that a registry has, beside those that the tests pin.
//
// Each row is one backend or client. Its newest versions are looked up first. What is equal to the
// pins is not installed again, because the other tests run it. What is not is installed and put
// through a short smoke: a pause, an approval, a denial. Each row becomes one line. Nothing here
// fails a test: a registry may be down, and a new release may be broken. The time for all rows is
// bounded, and a row that found no time says so.
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
	// Packages are what is compared, and Pinned the versions of them that the other tests run.
	Packages []string
	Pinned   map[string]string
}

// A Verdict is what the smoke found at one step. An empty Failed is a success.
type Verdict struct{ Step, Failed string }

// Steps of a smoke, in their order.
var Steps = []string{"pause", "approve", "deny"}

// A Try has what is needed to try rows.
type Try struct {
	// Lookup returns the newest version of each of the row's packages.
	Lookup func(context.Context, Row) (map[string]string, error)
	// Install makes what the smoke runs. It returns where that is.
	Install func(ctx context.Context, row Row, found map[string]string) (string, error)
	// Smoke runs the steps. An error means that they did not run.
	Smoke func(ctx context.Context, row Row, at string) ([]Verdict, error)
	// All tries rows too whose newest is the pinned one.
	All bool
	// Budget is the time for all rows.
	Budget time.Duration
}

// Lines tries the rows in their order, and hands each line to say as it is known.
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

// told names the packages that are newer, with their pins. If none is, it names the first.
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

// told is red unless every step is there and none failed.
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

// longest bounds what a line repeats of an error.
const longest = 200

// first returns the first line of an error, cut where it is long.
func first(err error) string {
	line, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	if len(line) > longest {
		line = line[:longest] + "…"
	}
	return line
}

// Requirements reads the pins of a requirements file. Names are as registries compare them.
func Requirements(text string) map[string]string {
	pins := map[string]string{}
	for line := range strings.Lines(text) {
		if name, version, ok := strings.Cut(strings.TrimSpace(line), "=="); ok {
			pins[Normal(name)] = version
		}
	}
	return pins
}

// Normal returns a Python package's name in the form by which registries compare names.
func Normal(name string) string {
	name, _, _ = strings.Cut(name, "[")
	return strings.ToLower(strings.NewReplacer("_", "-", ".", "-").Replace(strings.TrimSpace(name)))
}

// Report reads what pip install --dry-run --report prints.
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

// Verdicts reads the output of go test -v: one subtest of the test for each step.
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
		// The line of t.Error: file.go:12: text.
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

// Why returns the line of an output that says most about why a command failed: what pip could not
// bring together, or the last line with something in it.
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

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// switches is the file that has a constant for each mechanism which a build can leave out.
const switches = "internal/build/without/without.go"

const (
	ablationRounds = 15
	memoryRounds   = 3
	ablationCycles = 200 // pauses and resumes in each round
)

var switchLine = regexp.MustCompile(`(?m)^\t(\w+) += false\b`)

// A costMeasure measures what a scenario costs a target: CPU time for a unit of its work, or memory
// for each stream.
type costMeasure struct {
	scenario        string
	needsNewProcess bool // start the target anew for each measurement (memory)
	measure         func(b *bench, t *target) (float64, error)
}

func costMeasures() []costMeasure {
	blast := func(o order, runs int) func(b *bench, t *target) (float64, error) {
		return func(b *bench, t *target) (float64, error) {
			scaled, times := o, b.scaleCount(runs, 1)
			if runs == 1 {
				scaled.cycles = b.scaleCount(o.cycles, 1)
			}
			r, err := b.measureRound(t, scaled, times)
			if err != nil {
				return 0, err
			}
			return 1 / r.frames[0], nil
		}
	}
	idle := func(u burst) func(b *bench, t *target) (float64, error) {
		return func(b *bench, t *target) (float64, error) { return b.memoryAfterBurst(t, u) }
	}
	half := blastFrames / 2
	return []costMeasure{
		{"blast-1", false, blast(order{script: "text", cycles: half / 500, framesPerChunk: 1}, 1)},
		{"blast-20", false, blast(order{script: "text", cycles: half / 500, framesPerChunk: 20}, 1)},
		{"blast-usual", false, blast(order{script: "text", cycles: usualFrames / 500, framesPerChunk: 1}, half/usualFrames)},
		{"mixed-calls", false, blast(order{script: "approvals", cycles: half / 200, framesPerChunk: 1}, 1)},
		{"mixed-raw", false, blast(order{script: "raw", cycles: 15, framesPerChunk: 1}, 1)},
		{"mixed-crlf", false, blast(order{script: "crlf", cycles: half / 500, framesPerChunk: 1}, 1)},
		{"first-byte", false, shortRunCost(0)},
		{"first-byte-history", false, shortRunCost(100)},
		{"cycles-1", false, (*bench).cycleCost},
		{"idle-1000", true, idle(noBurst)},
		{"idle-said", true, idle(textBurst)},
	}
}

// shortRunCost measures the CPU time of one short run, in µs, with this number of messages before
// it.
func shortRunCost(history int) func(b *bench, t *target) (float64, error) {
	return func(b *bench, t *target) (float64, error) {
		c := b.client(readBuffer)
		defer c.close()
		return b.costPerAction(t, shortRuns/2, func() error {
			_, err := c.stream(b.ctx, t, order{script: "short", history: history}, "", nil)
			return err
		})
	}
}

// cycleCost returns the CPU time of one pause and its resume, in µs.
func (b *bench) cycleCost(t *target) (float64, error) {
	c := b.client(readBuffer)
	defer c.close()
	thread := fmt.Sprintf("thread-of-cycles-%d", b.runs.Add(1))
	return b.costPerAction(t, ablationCycles, func() error { return c.pauseAndResume(b, t, thread, "ask") })
}

// costPerAction runs n actions one after the other. It returns the CPU time of one action in µs.
func (b *bench) costPerAction(t *target, n int, do func() error) (float64, error) {
	n = b.scaleCount(n, 1)
	cpu, err := b.cpuTimeOf(t, func() error {
		for range n {
			if err := do(); err != nil {
				return err
			}
		}
		return nil
	})
	return float64(cpu) / float64(time.Microsecond) / float64(n), err
}

// memoryAfterBurst returns how much memory each of 1,000 waiting streams needs after the burst u,
// in bytes.
func (b *bench) memoryAfterBurst(t *target, u burst) (float64, error) {
	before, err := b.warmUp(t)
	if err != nil {
		return 0, err
	}
	n := b.scaleCount(1000, 1)
	g, err := b.gather(t, n, u.script, u.cycles)
	if err != nil {
		return 0, err
	}
	if u.cycles > 0 {
		received, _ := g.state()
		if err := b.gate("burst", g.size); err != nil {
			return 0, err
		}
		if err := g.awaitBytes(received + g.size*u.bytes(t.kind.form)); err != nil {
			return 0, err
		}
	}
	b.sleep(memorySettleTime)
	now, _, err := t.process.memory()
	if err != nil {
		return 0, err
	}
	return float64(now-before) / float64(n), g.finishStreams()
}

// kindOfBinary returns a kind of target that runs Holdpoint from the given binary.
func kindOfBinary(name, binary string) kind {
	return kind{name: name, form: formRewritten, share: 1, start: func(b *bench, ctx context.Context, name string) (*process, error) {
		return startHoldpoint(b, ctx, name, binary)
	}}
}

// ablationBuilds returns the builds to compare. They are the ordinary build, the same build again
// to show the noise, a build without each mechanism, and the binary of the flag -against.
func (b *bench) ablationBuilds() ([]kind, error) {
	source, err := os.ReadFile(switches)
	if err != nil {
		return nil, err
	}
	list := []kind{kindOfBinary("everything", b.settings.binary), kindOfBinary("nothing left out", b.settings.binary)}
	for _, found := range switchLine.FindAllSubmatchIndex(source, -1) {
		name := string(source[found[2]:found[3]])
		line := source[found[0]:found[1]]
		changed := slices.Concat(source[:found[0]], []byte(strings.Replace(string(line), "false", "true", 1)), source[found[1]:])
		binary := filepath.Join(b.dir, name)
		if err := b.buildWith(changed, binary); err != nil {
			return nil, err
		}
		list = append(list, kindOfBinary(name, binary))
	}
	if len(list) == 2 {
		return nil, errors.New(switches + " names no mechanism")
	}
	if b.settings.against != "" {
		list = append(list, kindOfBinary("against", b.settings.against))
	}
	return list, nil
}

// buildWith builds Holdpoint into the file to. changed is the content that replaces the file
// switches.
func (b *bench) buildWith(changed []byte, to string) error {
	file, overlay := to+".go", to+".json"
	original, err := filepath.Abs(switches)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, changed, 0o600); err != nil {
		return err
	}
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {original: file}})
	if err != nil {
		return err
	}
	if err := os.WriteFile(overlay, replace, 0o600); err != nil {
		return err
	}
	return build(b.ctx, to, "-overlay", overlay)
}

// ablation compares each build that leaves out one mechanism with the ordinary build. All builds
// are measured in the same rounds.
func (b *bench) ablation() error {
	list, err := b.ablationBuilds()
	if err != nil {
		return err
	}
	head, rows := []string{"without"}, make([][]string, len(list)-1)
	for n, k := range list[1:] {
		rows[n] = []string{k.name}
	}
	for _, c := range costMeasures() {
		if !slices.ContainsFunc(b.settings.selected, func(s scenario) bool { return s.name == c.scenario }) {
			continue
		}
		got, err := b.compareBuilds(c, list)
		if err != nil {
			return fmt.Errorf("%s: %w", c.scenario, err)
		}
		head = append(head, c.scenario)
		for n := range rows {
			rows[n] = append(rows[n], c.cell(got[n+1], got[0]))
		}
		fmt.Fprintf(b.diag, "%s: %s everything: %s\n", time.Now().UTC().Format(time.TimeOnly), c.scenario, spread(got[0]))
	}
	b.report.title("What each mechanism brings: CPU time without it, × with everything; of streams that wait, bytes more for each")
	b.report.table(head, rows)
	b.report.flush(b.out)
	return nil
}

// cell returns the cost of a build relative to the ordinary build, as text. For CPU time it is the
// median of the ratios and the range of their middle half. For memory it is the difference of the
// medians.
func (c costMeasure) cell(of, to []float64) string {
	if c.needsNewProcess {
		return fmt.Sprintf("%+.0f", median(of)-median(to))
	}
	list := ratios(of, to)
	return fmt.Sprintf("%.2f [%.2f–%.2f]", median(list), quantile(list, 0.25), quantile(list, 0.75))
}

// compareBuilds returns the costs of each build, one value for each round.
func (b *bench) compareBuilds(c costMeasure, list []kind) ([][]float64, error) {
	got := make([][]float64, len(list))
	if c.needsNewProcess {
		for range b.rounds(memoryRounds) {
			for n, k := range list {
				err := b.withNewTarget(k, func(t *target) error {
					v, err := c.measure(b, t)
					got[n] = append(got[n], v)
					return err
				})
				if err != nil {
					return nil, err
				}
			}
		}
		return got, nil
	}
	up := make([]*target, len(list))
	at := map[*target]int{}
	for n, k := range list {
		t, err := b.startTarget(k)
		if err != nil {
			return nil, err
		}
		defer b.endTarget(t)
		up[n], at[t] = t, n
	}
	err := b.measureInRounds(b.rounds(ablationRounds), up, func(t *target, counts bool) error {
		v, err := c.measure(b, t)
		if counts {
			got[at[t]] = append(got[at[t]], v)
		}
		return err
	})
	return got, err
}

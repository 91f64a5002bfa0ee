package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// A scenario is one measurement that a user can select by its name.
type scenario struct {
	name        string
	description string
	measure     func(b *bench) error
}

// scenarios returns all scenarios in the order in which they are measured. The names of a group
// begin with the same word, which selects the whole group.
func scenarios() []scenario {
	list := []scenario{
		{"blast-1", "small frames as fast as they go, one in an HTTP chunk", func(b *bench) error { return b.blast("one in a chunk", b.chunkedLoad(1, true)) }},
		{"blast-20", "twenty in a chunk", func(b *bench) error { return b.blast("20 in a chunk", b.chunkedLoad(20, true)) }},
		{"blast-usual", "runs of a usual length", func(b *bench) error { return b.blast("runs of a usual length", b.usualLoad(true)) }},
		{"mixed-calls", "2 % of the frames rewritten: tool calls under request-approval", (*bench).mixedCalls},
		{"mixed-custom", "2 % CUSTOM events under langgraph", (*bench).mixedCustom},
		{"mixed-raw", "LangGraph's RAW events, 1 KB to 1.5 MB", (*bench).mixedRaw},
		{"mixed-crlf", "small frames with CRLF, which Holdpoint sends on with LF", (*bench).mixedCRLF},
		{"paced", "1,000 frames a second: added delay and CPU", (*bench).pacing},
		{"first-byte", "the first byte of short runs, one after the other", func(b *bench) error { return b.firstByte(0) }},
		{"first-byte-history", "the same with 100 messages of 1 KB before each", func(b *bench) error { return b.firstByte(100) }},
		{"long-text", "whether a frame costs more late in a long message", func(b *bench) error { return b.measureLong("text", 4000) }},
		{"long-turns", "the same with many messages, calls and results", func(b *bench) error { return b.measureLong("turns", 20000) }},
		{"idle-1000", "memory of 1,000 streams that wait, and wait again after a burst", func(b *bench) error { return b.idle(1000, rawBurst) }},
		{"idle-said", "memory of 1,000 streams that wait after 500 pieces of text", func(b *bench) error { return b.idle(1000, textBurst) }},
		{"idle-9000", "memory of 9,000 streams that wait", func(b *bench) error { return b.idle(9000, noBurst) }},
		{"huge-raw", "memory for one RAW event of 16 MiB", func(b *bench) error { return b.hugeFrame("huge-raw") }},
		{"huge-state", "memory for one STATE_SNAPSHOT of 16 MiB", func(b *bench) error { return b.hugeFrame("huge-state") }},
		{"stalled", "memory while a reader stalls", (*bench).stalled},
		{"cycles-1", "10,000 pauses and resumes on one thread", func(b *bench) error { return b.cycles(1, 10000) }},
		{"cycles-200", "200 threads with 50 each", func(b *bench) error { return b.cycles(200, 50) }},
		{"desk", "runs beside a desk and without one, and the steps of a decision there", (*bench).desk},
	}
	list = append(list,
		scenario{"store-redis", "steps of a store in Redis, beside a bare request", (*bench).storeRedis},
		scenario{"store-postgres", "the same in PostgreSQL", (*bench).storePostgres},
		scenario{"store-bolt", "the same in a file, beside a bare fsync", (*bench).storeBolt},
		scenario{"store-bolt-together", "100 pauses at once in a file, beside 100 one after the other", (*bench).storeBoltTogether},
		scenario{"store-run", "plain runs with each store: CPU and the first byte", (*bench).storeRun},
		scenario{"store-million-redis", "each step in Redis beside 1,000,000 ended threads and 10,000 that wait", (*bench).millionInRedis},
		scenario{"store-million-postgres", "the same in PostgreSQL", (*bench).millionInPostgres},
		scenario{"store-million-bolt", "the same in a file", (*bench).millionInBolt},
	)
	list = append(list, scenario{"worst-bodies", "bodies that do not end", (*bench).bodies})
	for _, one := range worsts() {
		list = append(list, scenario{"worst-" + one.name, one.description, func(b *bench) error { return b.worst(one) }})
	}
	return list
}

// A bench is one run of the benchmark with all its processes.
type bench struct {
	ctx      context.Context
	settings settings
	report   report
	out      io.Writer
	diag     io.Writer // for output that does not belong to the tables

	programPath    string // the path of this program
	dir            string // the folder for files that are built
	origin         *process
	processes      []*process
	runningTargets map[string]*target
	missing        map[string]bool
	hasWorstHead   bool         // the table of the worst inputs already has its head
	runs           atomic.Int64 // number of runs so far; makes their ids unique
}

func newBench(ctx context.Context, s settings, out, diag io.Writer) (b *bench, err error) {
	b = &bench{ctx: ctx, settings: s, out: out, diag: diag, runningTargets: map[string]*target{}, missing: map[string]bool{}}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	if b.programPath, err = os.Executable(); err != nil {
		return b, err
	}
	if b.dir, err = os.MkdirTemp("", "holdpoint-bench-"); err != nil {
		return b, err
	}
	if s.binary == "" {
		b.settings.binary = filepath.Join(b.dir, "holdpoint")
		if err := build(ctx, b.settings.binary); err != nil {
			return b, err
		}
	}
	if b.origin, err = start(ctx, "origin", "", os.Environ(), listeningAddress, b.programPath, "origin"); err != nil {
		return b, err
	}
	b.report.line("%s, `%s`", time.Now().UTC().Format(time.DateOnly), s.commandLine)
	b.report.line("")
	b.report.line("%d CPUs (%s), %s, %s, Holdpoint %s.", runtime.NumCPU(), processor(), kernel(), runtime.Version(), b.version())
	b.report.flush(b.out)
	return b, nil
}

// close ends all processes that the bench has started.
func (b *bench) close() {
	for _, p := range append(b.processes, b.origin) {
		if p != nil {
			p.stop()
		}
	}
	if b.dir != "" {
		os.RemoveAll(b.dir)
	}
}

// endTarget ends the process of a target.
func (b *bench) endTarget(t *target) {
	if t.process != nil {
		t.process.stop()
		b.processes = slices.DeleteFunc(b.processes, func(p *process) bool { return p == t.process })
	}
}

func (b *bench) version() string {
	out, err := exec.CommandContext(b.ctx, b.settings.binary, "version").Output()
	if err != nil {
		return "of an unknown version"
	}
	return strings.TrimSpace(strings.TrimPrefix(string(out), "holdpoint "))
}

func processor() string {
	// The error is ignored, because the name is only for the reader of the report.
	info, _ := os.ReadFile("/proc/cpuinfo")
	_, name, _ := strings.Cut(string(info), "model name\t: ")
	name, _, _ = strings.Cut(name, "\n")
	return name
}

func kernel() string {
	release, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return "Linux " + strings.TrimSpace(string(release))
}

// selectsKind reports whether the flags select a target of this kind.
func (b *bench) selectsKind(k kind) bool {
	base, _, _ := strings.Cut(k.name, " ")
	if base == "against" && b.settings.against == "" {
		return false
	}
	return len(b.settings.targetNames) == 0 || slices.Contains(b.settings.targetNames, base)
}

// targets returns a target for each selected kind of the list. It starts kinds that do not run yet.
// If a kind is not possible on this machine, targets leaves it out and notes this in the report.
func (b *bench) targets(list []kind) ([]*target, error) {
	var up []*target
	for _, k := range list {
		if !b.selectsKind(k) || b.missing[k.name] {
			continue
		}
		if b.runningTargets[k.name] == nil {
			t, err := b.startTarget(k)
			if missing := (unavailableError{}); errors.As(err, &missing) {
				b.missing[k.name] = true
				b.report.noteMissingTarget(k, missing)
				continue
			}
			if err != nil {
				return nil, err
			}
			b.runningTargets[k.name] = t
		}
		up = append(up, b.runningTargets[k.name])
	}
	return up, nil
}

// proxies returns all kinds except direct. If all is false, it returns only the kinds that every
// scenario measures.
func proxies(all bool) []kind {
	return slices.DeleteFunc(kinds(), func(k kind) bool { return k.start == nil || k.inFullTableOnly && !all })
}

// rounds returns the number of rounds of a measurement: the flag -rounds if it is set, or usual.
func (b *bench) rounds(usual int) int {
	if b.settings.rounds > 0 {
		return b.settings.rounds
	}
	return usual
}

// scaleCount returns n multiplied by share and by the flag -scale, but at least 1.
func (b *bench) scaleCount(n int, share float64) int {
	return max(int(float64(n)*b.settings.scale*share), 1)
}

// measureInRounds measures each target once in each round, in random order. The first round does
// not count: its calls of measure get false for counts.
func (b *bench) measureInRounds(rounds int, list []*target, measure func(t *target, counts bool) error) error {
	return runRounds(rounds, len(list), func(i int, counts bool) error { return measure(list[i], counts) })
}

// runRounds calls do for each index below n once in each round, in random order. In the first
// round, counts is false.
func runRounds(rounds, n int, do func(i int, counts bool) error) error {
	for round := range rounds + 1 {
		for _, i := range rand.Perm(n) {
			if err := do(i, round > 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// settleTime is how long the benchmark waits after the last byte before it reads the CPU time,
// because the target may still be working.
const settleTime = 10 * time.Millisecond

// cpuTimeOf returns the CPU time that a target uses while do runs. It is zero if the target is the
// origin itself, without a proxy.
func (b *bench) cpuTimeOf(t *target, do func() error) (time.Duration, error) {
	if t.process == nil {
		return 0, do()
	}
	before, err := t.process.cpu()
	if err != nil {
		return 0, err
	}
	if err := do(); err != nil {
		return 0, err
	}
	time.Sleep(settleTime)
	after, err := t.process.cpu()
	if err == nil && after <= before {
		err = fmt.Errorf("%s used no CPU time: it is not what was loaded", t.name)
	}
	return after - before, err
}

package main

import (
	"fmt"
	"time"
)

const (
	streams     = 4       // concurrent streams
	blastFrames = 200_000 // frames of each stream
	// usualFrames is the number of frames of a run of realistic size. It has some 2 MB, which
	// Holdpoint stores completely for snapshots by default.
	usualFrames = 10_000
	readBuffer  = 64 << 10
)

// A load is a script that the origin sends as fast as possible, and the kinds of targets to measure
// with it.
type load struct {
	title  string
	order  order
	runs   int // runs of each stream, one after the other
	rounds int
	kinds  []kind
}

// A rate is the result of a load for one target, with a value for each round.
type rate struct {
	frames []float64 // millions of frames per CPU second
	bytes  []float64 // MB per second of real time
}

// rates are the results of a load, keyed by the name of the target.
type rates map[string]*rate

// framesOf returns the frames per CPU second for each round, or nil if the target was not measured.
func (r rates) framesOf(name string) []float64 {
	if r[name] == nil {
		return nil
	}
	return r[name].frames
}

// measureLoad measures a load through every selected target, and adds a table to the report.
func (b *bench) measureLoad(l load) (rates, error) {
	list, err := b.targets(l.kinds)
	if err != nil {
		return nil, err
	}
	got := rates{}
	err = b.measureInRounds(b.rounds(l.rounds), list, func(t *target, counts bool) error {
		ord, runs := l.order, 1
		if l.runs > 0 {
			runs = b.scaleCount(l.runs, t.kind.share)
		} else {
			ord.cycles = b.scaleCount(ord.cycles, t.kind.share)
		}
		r, err := b.measureRound(t, ord, runs)
		if err == nil && counts {
			if got[t.name] == nil {
				got[t.name] = &rate{}
			}
			got[t.name].frames = append(got[t.name].frames, r.frames...)
			got[t.name].bytes = append(got[t.name].bytes, r.bytes...)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	b.tabulate(l, got, list)
	return got, nil
}

// measureRound measures one round for one target.
func (b *bench) measureRound(t *target, ord order, runs int) (rate, error) {
	c := b.client(readBuffer)
	defer c.close()
	frames := 0
	begin := time.Now()
	cpu, err := b.cpuTimeOf(t, func() (err error) {
		frames, err = c.streamConcurrently(b.ctx, t, ord, streams, runs)
		return err
	})
	took := time.Since(begin)
	if err != nil {
		return rate{}, err
	}
	return rate{
		frames: []float64{float64(frames) / 1e6 / cpu.Seconds()},
		bytes:  []float64{ord.size() * float64(streams*runs) / 1e6 / took.Seconds()},
	}, nil
}

// size returns the number of bytes in the stream that the order asks for.
func (o order) size() float64 {
	s, err := o.makeScript()
	if err != nil {
		return 0
	}
	total := 0
	for _, p := range s.parts(formSent) {
		total += len(p.bytes) * p.times
	}
	return float64(total)
}

// tabulate adds the table of a load to the report. The table has the ratios to the targets
// reverseproxy and reverseproxy-32k, if they were measured.
func (b *bench) tabulate(l load, got rates, list []*target) {
	b.report.title("%s", l.title)
	var rows [][]string
	for _, t := range list {
		r := got[t.name]
		rows = append(rows, []string{
			t.name, spread(r.frames), short3(1 / median(r.frames)),
			spread(ratios(r.frames, got.framesOf("reverseproxy"))), spread(ratios(r.frames, got.framesOf("reverseproxy-32k"))), short3(median(r.bytes)),
		})
	}
	b.report.table([]string{"target", "M frames / CPU s", "µs / frame", "× reverseproxy", "× reverseproxy-32k", "MB/s"}, rows)
}

// atLeast adds a goal to the report, if both targets were measured: the frames per CPU second of
// the target of must be at least limit times those of the target to.
func (b *bench) atLeast(number int, got rates, of, to string, limit float64, where string) {
	if list := ratios(got.framesOf(of), got.framesOf(to)); len(list) > 0 {
		b.report.atLeast(number, median(list), limit, "%s: %s × %s", where, of, to)
	}
}

// chunkedLoad returns the load of the scenarios blast-1 and blast-20, with per frames in each HTTP
// chunk.
func (b *bench) chunkedLoad(per int, all bool) load {
	return load{
		title:  fmt.Sprintf("Blast: %d streams of %d small frames (%d bytes), %d in an HTTP chunk", streams, blastFrames, frameBytes, per),
		order:  order{script: "text", cycles: blastFrames / 500, framesPerChunk: per},
		rounds: 9,
		kinds:  proxies(all),
	}
}

// usualLoad returns the load of chunkedLoad, divided into runs of the usual length.
func (b *bench) usualLoad(all bool) load {
	l := b.chunkedLoad(1, all)
	l.title = fmt.Sprintf("Blast: %d streams, each %d runs of %d frames, 1 in an HTTP chunk", streams, blastFrames/usualFrames, usualFrames)
	l.order.cycles, l.runs = usualFrames/500, blastFrames/usualFrames
	return l
}

// The goals of issue 5. Each goal is the least number of times that Holdpoint's frames per CPU
// second must be those of another target: goalDefault for reverseproxy, goalBuffers for
// reverseproxy-32k, and the others for the targets of the same name.
const (
	goalDefault = 1.2
	goalBuffers = 0.95
	goalNginx   = 2
	goalNode    = 15
	goalNaive   = 25
)

func (b *bench) blast(where string, l load) error {
	got, err := b.measureLoad(l)
	if err != nil {
		return err
	}
	b.atLeast(1, got, "holdpoint", "reverseproxy", goalDefault, "blast, "+where)
	b.atLeast(1, got, "holdpoint", "reverseproxy-32k", goalBuffers, "blast, "+where)
	b.atLeast(1, got, "holdpoint", "nginx", goalNginx, "blast, "+where)
	b.atLeast(1, got, "holdpoint", "node", goalNode, "blast, "+where)
	b.atLeast(1, got, "holdpoint", "naive", goalNaive, "blast, "+where)
	return nil
}

func (b *bench) mixedCalls() error {
	return b.measureMixed("approvals", "request-approval", "2 % of the frames rewritten (calls of request_approval)", blastFrames/200)
}

func (b *bench) mixedCustom() error {
	return b.measureMixed("customs", "langgraph", "2 % CUSTOM, of which the last pauses the run", blastFrames/200)
}

func (b *bench) mixedRaw() error {
	return b.measureMixed("raw", "langgraph", "LangGraph's stream with its RAW events (1 KB to 1.5 MB)", 30)
}

// mixedCRLF has no goal, because Holdpoint must copy each byte of this stream, which other streams
// do not need.
func (b *bench) mixedCRLF() error {
	_, err := b.measureLoad(load{title: "Mixed: frames with CRLF", order: order{script: "crlf", cycles: blastFrames / 500, framesPerChunk: 1}, rounds: 5, kinds: proxies(false)})
	return err
}

// measureMixed measures streams that do not consist only of text. It measures Holdpoint twice: with
// the dialect recognized, and with the dialect configured. The goals are nine tenths of those of
// the blast.
func (b *bench) measureMixed(script, dialect, what string, cycles int) error {
	list := proxies(false)
	for _, k := range list {
		if k.name == "holdpoint" {
			list = append(list, k.withDialect(dialect))
		}
	}
	got, err := b.measureLoad(load{title: "Mixed: " + what, order: order{script: script, cycles: cycles, framesPerChunk: 1}, rounds: 5, kinds: list})
	if err != nil {
		return err
	}
	for _, name := range []string{"holdpoint", "holdpoint " + dialect} {
		b.atLeast(8, got, name, "reverseproxy", 0.9*goalDefault, "mixed, "+script)
		b.atLeast(8, got, name, "reverseproxy-32k", 0.9*goalBuffers, "mixed, "+script)
	}
	return nil
}

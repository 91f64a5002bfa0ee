package proxy

import (
	"net/http"
	"runtime"
	"testing"
	"unsafe"
	"weak"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// A weakDialect is a fakeDialect with a weak pointer to the Run that it made for the first
// exchange.
type weakDialect struct {
	*fakeDialect
	first weak.Pointer[fakeRun]
}

func (d *weakDialect) Begin(r *translate.Request) (translate.Out, translate.Run, error) {
	out, run, err := d.fakeDialect.Begin(r)
	if one, ok := run.(*fakeRun); ok && d.first == (weak.Pointer[fakeRun]{}) {
		d.first = weak.Make(one)
	}
	return out, run, err
}

// keepsFirst reports whether the Run of the first exchange is still reachable.
func (d *weakDialect) keepsFirst() bool {
	runtime.GC()
	return d.first.Value() != nil
}

// TestRunKeepsOneExchange: a run has had its first exchange, and then the next exchange begins, or
// the next run of the same stream. Nothing of the first exchange may stay in memory, because a
// stream may last for hours.
func TestRunKeepsOneExchange(t *testing.T) {
	t.Run("of two exchanges", func(t *testing.T) {
		d := &weakDialect{fakeDialect: &fakeDialect{}}
		looked, kept := false, false
		g := newRig(t, func(w http.ResponseWriter, _ *http.Request, n int) {
			switch n {
			case 1:
				sendStream(w, streamOf(started, asks))
			case 2:
				sendStream(w, streamOf(started, finished))
			default:
				looked, kept = true, d.keepsFirst()
				sendStream(w, streamOf(started, hello, finished))
			}
		}, func(o *Options) { o.Dialect = d })
		d.end = func(n int, e translate.End) (translate.Result, error) {
			if n == 1 && e.Event.Type == agui.RunFinished && !e.Event.Get("outcome").Exists() {
				return translate.Result{Next: &translate.Exchange{Out: translate.Out{TakesNew: true}}}, nil
			}
			return translate.Result{}, nil
		}
		g.do(input("t", "r1", ""))
		d.first = weak.Pointer[fakeRun]{}
		wantTypes(t, g.do(input("t", "r2", resumeWith(yes("n1~id1")))), "RUN_STARTED TEXT_MESSAGE_CHUNK RUN_FINISHED")
		if !looked || kept {
			t.Errorf("looked: %v, the first is kept: %v", looked, kept)
		}
	})
	t.Run("of two runs of a stream", func(t *testing.T) {
		d := &weakDialect{fakeDialect: &fakeDialect{}}
		looked, kept := false, false
		d.event = func(ev agui.Event, emit func(agui.Event)) error {
			if ev.Type == agui.TextChunk {
				looked, kept = true, d.keepsFirst()
			}
			emit(ev)
			return nil
		}
		g := newRig(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
			sendStream(w, streamOf(started, finished, `{"type":"RUN_STARTED","threadId":"t","runId":"r2"}`, hello, `{"type":"RUN_FINISHED","threadId":"t","runId":"r2"}`))
		}, func(o *Options) { o.Dialect = d })
		wantTypes(t, g.do(input("t", "r1", "")), "RUN_STARTED RUN_FINISHED RUN_STARTED TEXT_MESSAGE_CHUNK RUN_FINISHED")
		if !looked || kept {
			t.Errorf("looked: %v, the first is kept: %v", looked, kept)
		}
	})
}

// TestSizeOfAStream: each waiting stream holds a run and a body in memory, and there may be
// thousands of streams. A run must fit into the allocator's size class of 1792 bytes, and a body
// into that of 576 bytes. The allocator uses 8 bytes of each. One byte too much would cost 256
// bytes for the run, or 64 for the body.
func TestSizeOfAStream(t *testing.T) {
	for what, c := range map[string]struct{ got, most uintptr }{
		"run":  {unsafe.Sizeof(run{}), 1784},
		"body": {unsafe.Sizeof(body{}), 568},
	} {
		if c.got > c.most {
			t.Errorf("a %s has %d bytes, at most %d fit", what, c.got, c.most)
		}
	}
}

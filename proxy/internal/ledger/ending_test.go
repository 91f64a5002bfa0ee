package ledger

import (
	"testing"
	"testing/synctest"
	"time"

	"holdpoint/store"
)

// TestEnding: the store does not reply, and meanwhile the process begins to end. LastTime later,
// all steps must be over, however many there are. This includes a step that was running.
func TestEnding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(&silentIndex{}, "t", EventReporter{}, nil)
		l.Ending = NewEnding()
		begun := time.Now()
		time.AfterFunc(StepTimeout/2, l.Ending.Begin)
		_ = l.Open(pause("p"))
		if took := time.Since(begun); took != StepTimeout/2+2*lastStepTimeout {
			t.Errorf("a step under way, and the same once more: %v", took)
		}
		for range 10 {
			_ = l.MarkSeen("p")
		}
		l.Occupancy().Begin()
		if o, err := l.Occupy("other"); o != nil || err == nil {
			t.Error("a thread is occupied")
		}
		if took := time.Since(begun); took != StepTimeout/2+LastTime {
			t.Errorf("all steps: %v", took)
		}
	})
}

// TestEndingCutsNoAnswer: the process ends, and the store replies. Steps of the store must still
// succeed.
func TestEndingCutsNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFaults()
		l := New(f, "t", EventReporter{}, nil)
		l.Ending = NewEnding()
		l.Ending.Begin()
		l.Ending.Begin()
		p := open(t, l, "p")
		claim, err := take(l, p, yes(p))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := claim.Release(); err != nil {
			t.Fatal(err)
		}
		if rec := f.record(t, "t"); rec.State != store.Open {
			t.Errorf("the record is %q", rec.State)
		}
	})
}

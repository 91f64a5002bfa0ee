package proxy

import (
	"context"
	"fmt"
	"net/url"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/settle"
	"holdpoint/proxy/internal/stream"
	"holdpoint/proxy/internal/transcript"
	"holdpoint/store"
	"holdpoint/store/memory"
	"holdpoint/translate"
	"holdpoint/translate/dialects"
)

// A noStore skips the steps Ask and Remember, so that a test does not count the allocations of the
// store.
type noStore struct{ store.Store }

func (s noStore) Do(ctx context.Context, key store.Key, step store.Step) (store.StepResult, error) {
	switch step.(type) {
	case store.Ask, store.Remember:
		return store.StepResult{}, nil
	}
	return s.Store.Do(ctx, key, step)
}

// An exampleEnd is a run that has read all events of its stream except the last one.
type exampleEnd struct {
	*run
	last agui.Event
	out  []byte
}

// endings returns n equal runs that wait for their last event. A benchmark needs many runs, because
// each run can end only once. The RUN_STARTED of the stream has other ids than the request.
func endings(t testing.TB, n int, dialect string, s store.Store, stream ...string) []*exampleEnd {
	t.Helper()
	d, err := dialects.All().New(dialect, nil)
	if err != nil {
		t.Fatal(err)
	}
	up, _ := url.Parse("http://backend/agent")
	h, err := New(Options{Upstream: up, Dialect: d, Store: s})
	if err != nil {
		t.Fatal(err)
	}
	list := make([]*exampleEnd, n)
	for i := range list {
		thread := fmt.Sprint("thread-", i)
		in, _, err := agui.ParseInput([]byte(input(thread, "run-1", `,"protocolVersion":"1.0"`)))
		if err != nil {
			t.Fatal(err)
		}
		r := loneRun(t.Context(), h, "/agent", &in)
		r.judge.show = r.judge.showFor()
		r.client.transcript = transcript.New(h.opts.TranscriptBytes, in.Messages, in.State)
		_, translation, err := d.Begin(&translate.Request{Input: in, ClientMessages: in.Messages, Transcript: r.client.transcript, Show: r.judge.show})
		if err != nil {
			t.Fatal(err)
		}
		r.exchange.Run = translation
		b := bodyOver(r, nil, translate.Unread)
		b.event(framed(started))
		for _, one := range stream[:len(stream)-1] {
			b.event(framed(one))
		}
		r.client.transcript.ClosingEvents(false) // folds the text pieces, which happens once per run
		list[i] = &exampleEnd{r, framed(stream[len(stream)-1]), make([]byte, 0, 16<<10)}
	}
	return list
}

func framed(event string) agui.Event {
	return agui.Event{Type: agui.PeekType([]byte(event)), JSON: []byte(event), Frame: []byte(streamOf(event))}
}

func (e *exampleEnd) tell() {
	events := e.conclude(settle.End{End: translate.End{Event: e.last}}, false).events
	for _, ev := range events {
		e.out = stream.AppendEvent(e.out, ev)
	}
}

const (
	otherIDs = `{"type":"RUN_FINISHED","threadId":"other","runId":"other"}`
	whole    = `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u1","role":"user","content":"hi"},{"id":"m1","role":"assistant","content":"hello"}]}`
)

// TestRewrittenEndsAllocateLittle checks that rewriting a terminal event costs at most 6
// allocations, from the dialect's method End to the frame. Rewriting gives the event the request's
// ids or the interrupt outcome. One of the allocations remembers how the client of a new thread
// sends its conversation.
//
// If the run asks, the record costs further allocations. The record has the pause, the pause's id,
// the terminal event of the backend, and the same event without the outcome and with the request's
// ids. It also has what the client has (Messages, State, Seen), the digest of the questions, their
// origin, and the entries of the index. Each call of the store allocates a context, which ends
// sooner while the process drains, and the step, which is a value in an interface. The store of
// this test does nothing. A real store allocates more.
func TestRewrittenEndsAllocateLittle(t *testing.T) {
	const runs = 100
	most, mostOfRecord := 6.0, 66.0
	if RaceDetector {
		// with the race detector, more escapes to the heap
		most, mostOfRecord = most+2, mostOfRecord+8
	}
	for _, dialect := range []string{"auto", "agui"} {
		perEnd := func(s store.Store, stream ...string) (float64, *exampleEnd) {
			list, n := endings(t, runs+1, dialect, s, stream...), 0
			allocs := testing.AllocsPerRun(runs, func() {
				list[n].tell()
				n++
			})
			return allocs, list[0]
		}
		if n, e := perEnd(noStore{}, otherIDs); n > 3 || types(string(e.out)) != "RUN_FINISHED" {
			t.Errorf("%s: other ids: %v allocations: %s", dialect, n, e.out)
		}
		all, e := perEnd(noStore{}, whole, asks)
		if types(string(e.out)) != "RUN_FINISHED+interrupt" {
			t.Fatalf("%s: %s", dialect, e.out)
		}
		const bytesOfThePause = 5
		end, object := framed(otherIDs), []byte(agui.DeleteKey(e.client.paused.Interrupts[0].Object, "id"))
		record := bytesOfThePause + testing.AllocsPerRun(runs, func() {
			e.client.listener().WithIDs(end)
			res := translate.Result{Finish: end, Asked: translate.AskedPause{Interrupts: []agui.Interrupt{{Native: "n1", Object: object}}}}
			f := e.facts(&res, nil)
			o := settle.Settle(&f, &res, &settle.End{}, nil)
			e.saveOutcome(&o)
		})
		withMemory, _ := perEnd(memory.New(memory.Options{}), whole, asks)
		t.Logf("%s: a question: %v allocations, %v of them for the record; %v more in the store", dialect, all, record, withMemory-all)
		if all-record > most || record > mostOfRecord || withMemory-all > 16 {
			t.Errorf("%s: a question: %v allocations, %v of them for the record; %v more in the store", dialect, all, record, withMemory-all)
		}
	}
}

// TestRewrittenBeginningsAllocateLittle checks that rewriting a RUN_STARTED costs at most one
// allocation.
func TestRewrittenBeginningsAllocateLittle(t *testing.T) {
	e := endings(t, 1, "agui", noStore{}, otherIDs)[0]
	ev := framed(started)
	if n := testing.AllocsPerRun(100, func() { e.out = stream.AppendEvent(e.out[:0], e.client.listener().WithIDs(ev)) }); n > 1 {
		t.Errorf("%v allocations: %s", n, e.out)
	}
}

// BenchmarkEnd measures the end of a run, including the snapshots for a client that has none.
func BenchmarkEnd(b *testing.B) {
	for name, stream := range map[string][]string{
		"other ids": {otherIDs},
		"question":  {whole, asks},
		"question behind a text": {
			`{"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant"}`, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"hello"}`,
			`{"type":"TEXT_MESSAGE_END","messageId":"m1"}`, asks,
		},
	} {
		b.Run(name, func(b *testing.B) {
			list := endings(b, b.N, "auto", noStore{}, stream...)
			b.ReportAllocs()
			b.ResetTimer()
			for _, e := range list {
				e.tell()
			}
		})
	}
}

package storetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"holdpoint/store"
)

func note(id string) store.Note {
	return store.Note{ID: id, Text: json.RawMessage(fmt.Sprintf(`{"id":%q,"n":1.10,"text":"<ä&>"}`, id))}
}

// leading returns a note that refers to the pause pauseID, as in the index of questions.
func leading(pauseID string) store.Note {
	return store.Note{ID: pauseID, Text: json.RawMessage(`{"key":"a"}`), RefersToPause: true}
}

func rememberCases() []testCase {
	remember := func(x *fixture, k store.Key, n store.Note, most int) {
		x.Helper()
		x.must(x.do(k, store.Remember{Note: n, Most: most}))
	}
	// has ends the test unless the notes of a key have these ids, in this order.
	has := func(x *fixture, k store.Key, want ...string) {
		x.Helper()
		var got []string
		for _, n := range x.load(k).Notes {
			got = append(got, n.ID)
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			x.Errorf("the notes are %q, want %q", got, want)
		}
	}
	return []testCase{
		{name: "a note comes back as it went in, with the store's time", run: func(x *fixture) {
			k := x.key("a")
			remember(x, k, note("n"), 5)
			rec := x.load(k)
			got := rec.Notes[0]
			x.near("At", got.At, x.clock.Now())
			x.same("the text", string(got.Text), string(note("n").Text))
			if rec.State != store.None || rec.Owner != "" {
				x.Errorf("the record is %s", asJSON(rec))
			}
		}},
		{name: "the newest come first, and the oldest give way", run: func(x *fixture) {
			k := x.key("a")
			for n := range 7 {
				remember(x, k, note(fmt.Sprint(n)), 5)
			}
			has(x, k, "6", "5", "4", "3", "2")
			remember(x, k, note("7"), 2)
			has(x, k, "7", "6")
		}},
		{name: "the same id again takes the place of the other", run: func(x *fixture) {
			k := x.key("a")
			remember(x, k, note("a"), 5)
			remember(x, k, note("b"), 5)
			again := note("a")
			again.Text = json.RawMessage(`1`)
			remember(x, k, again, 5)
			has(x, k, "a", "b")
			x.same("the text", string(x.load(k).Notes[0].Text), "1")
		}},
		{name: "keys have notes of their own", run: func(x *fixture) {
			remember(x, x.key("a"), note("a"), 5)
			has(x, x.key("b"))
		}},
		{name: "what was loaded before stays as it was", run: func(x *fixture) {
			k := x.key("a")
			remember(x, k, note("a"), 5)
			before := x.load(k)
			remember(x, k, note("b"), 5)
			if len(before.Notes) != 1 {
				x.Error("it has changed")
			}
		}},
		{name: "a thread keeps its pause, and its notes", run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			before := x.load(k)
			remember(x, k, note("a"), 5)
			after := x.load(k)
			after.Notes, after.Now = nil, before.Now
			x.same("the record", after, before)
			x.must(x.do(k, store.Claim{PauseID: "p", Token: "token", Digest: "digest", Lease: x.lease}))
			x.must(x.do(k, store.Renew{Token: "token", Lease: x.lease}))
			x.must(x.do(k, store.Finish{Token: "token", Result: result("r")}))
			has(x, k, "a")
		}},
		{name: "it does not wait, and is not listed", run: func(x *fixture) {
			k := x.key("a")
			remember(x, k, note("a"), 5)
			page, err := x.List(x.Context(), store.Query{Limit: store.MaxPage})
			x.must(err)
			for _, row := range page.Rows {
				if row.Key == k {
					x.Error("it is listed")
				}
			}
		}},
		{name: "of several at once none is lost", run: func(x *fixture) {
			k := x.key("a")
			var all sync.WaitGroup
			for n := range 10 {
				all.Go(func() {
					if _, err := x.Do(x.Context(), k, store.Remember{Note: note(fmt.Sprint(n)), Most: store.MaxNotes}); err != nil {
						x.Error(err)
					}
				})
			}
			all.Wait()
			if got := len(x.load(k).Notes); got != 10 {
				x.Errorf("%d notes", got)
			}
		}},
		{name: "it is forgotten in time", elapses: true, exact: true, run: func(x *fixture) {
			k := x.key("a")
			remember(x, k, note("a"), 5)
			x.clock.advance(x.retention / 2)
			remember(x, k, note("b"), 5)
			x.clock.advance(x.retention / 2)
			has(x, k, "b", "a")
		}},
		{name: "a key that only leads to a thread is of no thread, and outlives its pause", run: func(x *fixture) {
			leads, k := x.key("index"), x.key("a")
			remember(x, leads, leading("p"), 8)
			x.open(k, pause("p")) // the index's note for a pause is written before the pause
			remember(x, leads, leading("q"), 8)
			x.claim(k, "p", "token", "digest")
			x.finish(k, "token", result("p"), nil)
			has(x, leads, "q", "p")
			if rec := x.load(leads); rec.Owner != "" || rec.State != store.None || len(rec.Results) > 0 {
				x.Errorf("the record is %s", asJSON(rec))
			}
			if rec := x.load(k); len(rec.Notes) > 0 {
				x.Error("the thread has the notes of the index")
			}
		}},
		{name: "a key that leads to a thread is known as long as what became of its pause", elapses: true, exact: true, unit: time.Hour, run: func(x *fixture) {
			leads := func(name string) (lead, thread store.Key) {
				lead, thread = x.key("index of "+name), x.key(name)
				remember(x, lead, leading("p"), 8)
				return lead, thread
			}
			// known ends the test unless the store keeps both for the time kept: the result of the
			// pause "p" in the thread, and the note that leads to it.
			known := func(lead, thread store.Key, kept time.Duration) {
				x.Helper()
				x.clock.advance(kept - time.Second)
				x.sweep()
				if rec := x.load(thread); rec.State != store.None || len(rec.Results) != 1 || rec.Results[0].Tombstone {
					x.Fatalf("the record is %s", asJSON(rec))
				}
				has(x, lead, "p")
			}
			lead, k := leads("retired")
			x.open(k, pause("p"))
			x.clock.advance(x.retention)
			x.state(k, store.None, "") // Load writes down what the passing of time changed
			known(lead, k, x.replay)

			lead, k = leads("answered late")
			x.open(k, pause("p"))
			x.clock.advance(x.retention - 1)
			x.claim(k, "p", "t", "d")
			x.finish(k, "t", result("r"), nil)
			known(lead, k, x.replay)

			lead, k = leads("not seen")
			x.open(k, pause("p"))
			x.clock.advance(x.retention - 1)
			x.claim(k, "p", "t", "d")
			unseen := result("r")
			unseen.EndUnseen = true
			x.finish(k, "t", unseen, nil)
			known(lead, k, x.retention)

			lead, k = leads("in doubt")
			x.open(k, pause("p"))
			x.clock.advance(x.retention - 1)
			x.lapse(k, "p", "t", "d")
			x.clock.advance(x.retention)
			x.state(k, store.None, "")
			known(lead, k, x.replay)

			lead, k = leads("that expires late")
			expiry := x.clock.Now().Add(2 * x.retention)
			x.end(k, expiring("p", expiry))
			known(lead, k, 2*x.retention)
		}},
		{name: "an expiry in the year 9999 keeps neither a result nor what leads to it", elapses: true, exact: true, unit: time.Hour, run: func(x *fixture) {
			lead, k := x.key("index"), x.key("a")
			remember(x, lead, leading("p"), 8)
			x.end(k, expiring("p", time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)))
			longest := 2*x.retention + x.replay + store.NoteAge
			x.clock.advance(longest - time.Minute)
			if rec := x.load(k); len(rec.Results) != 1 || rec.Results[0].Tombstone {
				x.Errorf("the record is %s", asJSON(rec))
			}
			has(x, lead, "p") // has loads the note, so it is kept for the same time again
			x.clock.advance(time.Minute)
			if rec := x.load(k); len(rec.Results) != 1 || !rec.Results[0].Tombstone {
				x.Errorf("the record is %s", asJSON(rec))
			}
			x.clock.advance(longest)
			if x.sweep() {
				has(x, lead)
			}
		}},
		{name: "what leads to a thread is kept for as long again when it is asked for", elapses: true, exact: true, unit: time.Hour, run: func(x *fixture) {
			lead, left := x.key("index"), x.key("notes only")
			remember(x, lead, leading("p"), 8)
			remember(x, left, note("n"), 8)
			longest := 2*x.retention + x.replay + store.NoteAge
			x.clock.advance(longest/10 + time.Minute)
			has(x, lead, "p")
			x.clock.advance(longest - time.Minute)
			if x.sweep() {
				has(x, left) // its note refers to no pause, so loading it did not prolong it
			}
			has(x, lead, "p")
		}},
		{name: "asking for a key that has no notes leaves nothing", run: func(x *fixture) {
			k := x.key("nothing")
			for range 2 {
				if rec := x.load(k); rec.Version != 0 || len(rec.Notes) > 0 {
					x.Errorf("the record is %s", asJSON(rec))
				}
			}
		}},
		{name: "threads without number push out no notes, and notes no threads", entries: 4, run: func(x *fixture) {
			leads, owned := x.key("index"), x.key("owned")
			remember(x, leads, note("p"), 8)
			for n := range 100 {
				_, err := x.Load(x.Context(), x.key(fmt.Sprint("flood ", n)), "somebody")
				x.must(err)
			}
			has(x, leads, "p")
			_, err := x.Load(x.Context(), owned, "somebody")
			x.must(err)
			for n := range 100 {
				remember(x, x.key(fmt.Sprint("note ", n)), note("p"), 8)
			}
			rec := x.load(owned)
			x.same("the owner", rec.Owner, "somebody")
		}},
		{name: "what is no note is refused", run: func(x *fixture) {
			k := x.key("a")
			large := store.Note{ID: "a", Text: json.RawMessage(`"` + strings.Repeat("x", store.MaxNoteBytes) + `"`)}
			for _, n := range []store.Note{{}, {ID: "a"}, {Text: note("a").Text}, large} {
				if _, err := x.Do(x.Context(), k, store.Remember{Note: n, Most: 5}); err == nil {
					x.Errorf("the note %q of %d bytes was taken", n.ID, len(n.Text))
				}
			}
			for _, most := range []int{0, -1, store.MaxNotes + 1} {
				if _, err := x.Do(x.Context(), k, store.Remember{Note: note("a"), Most: most}); err == nil {
					x.Errorf("%d notes were taken", most)
				}
			}
			has(x, k)
		}},
	}
}

package proxy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/internal/desk/api"
	"holdpoint/internal/desk/carry"
	"holdpoint/internal/event"
	"holdpoint/internal/event/door"
	"holdpoint/store"
)

// This file has the steps of a world that happen at the desk or without the client. It counts the
// outcomes of these steps.

// A happenings counts how often each case occurred in the sequences of a test, so that the test can
// check that each case occurred.
type happenings map[string]int

func (h happenings) add(what string) { h[what]++ }

// told counts the codes in a stream that a client got.
func (h happenings) told(stream string) {
	for _, code := range []agui.Code{agui.InterruptExpired, agui.ResumeInDoubt, agui.ResumeConflict, agui.PartialResume} {
		if strings.Contains(stream, string(code)) {
			h.add("told " + string(code))
		}
	}
}

// atTheDesk returns the cases that must occur in the sequences of a test. They are the ways to
// decide, the ways to send a decision, and the outcomes.
func atTheDesk() []string {
	list := []string{
		"decided as a whole", "decided in part", "decided too late", "decided otherwise", "decided twice", "decided and the store stumbled",
		"answered in the chat", "carried", "carried by a look", "carried by the chat", "the chat had the rest", "the chat said the same",
		"too old for Holdpoint", "outlived its question", "given back", "died while it carried", "died while it decided", "the store stumbled while it carried",
		"given up at the desk", "nobody came",
		"told INTERRUPT_EXPIRED", "told RESUME_IN_DOUBT", "told RESUME_CONFLICT", "told PARTIAL_RESUME",
	}
	for _, mode := range modes {
		if mode != "unreachable" { // no request of this mode reaches the backend
			list = append(list, "carried: "+mode)
		}
	}
	return list
}

// elsewhere decides questions of the open pause at the desk. approve maps the id of each question
// to true for a yes, or to false for a cancel. Questions without an entry are not decided.
func (w *world) elsewhere(approve map[string]bool) {
	rec := w.record()
	if rec.State != store.Open {
		return
	}
	var words []door.Decision
	stood := 0
	for _, i := range rec.Pause.Interrupts {
		yes, says := approve[i.ID]
		if !says {
			continue
		}
		word := door.Decision{Question: i.ID, Status: agui.Cancelled}
		if yes {
			word.Status, word.Payload = agui.Resolved, []byte("true")
		}
		d := rec.Pause.Decision(i.ID)
		if d == nil || d.Status == word.Status {
			w.approved[i.ID] = w.approved[i.ID] || yes
			w.cancelled[i.ID] = w.cancelled[i.ID] || !yes
		}
		if d != nil && d.Status == word.Status {
			stood++
		}
		words = append(words, word)
	}
	m, before := w.replicas[w.at], w.plan.hit()
	_, err := m.Decide(context.Background(), recordKey("/", "t"), rec.Pause.ID, door.Decider{Door: "desk"}, words)
	died, stumbled := m.dead.Load(), w.plan.hit() != before
	w.revive(m)
	w.noteDecided(err, len(words), stood, died, stumbled)
	if err == nil && len(words) > 0 && !stumbled {
		now := w.record()
		for _, word := range words {
			if d := now.Pause.Decision(word.Question); d == nil || d.Status != word.Status {
				w.violates("%s was decided and does not stand", word.Question)
			}
		}
	}
}

// noteDecided counts how a decision at the desk ended.
func (w *world) noteDecided(err error, words, stood int, died, stumbled bool) {
	var refused *agui.RunError
	switch {
	case words == 0:
	case died:
		w.happened.add("died while it decided")
	case stumbled:
		w.happened.add("decided and the store stumbled")
	case errors.Is(err, store.ErrConflict):
		w.happened.add("decided otherwise")
	case errors.As(err, &refused) && refused.Code == agui.InterruptExpired:
		w.happened.add("decided too late")
	case err != nil:
	case stood == words:
		w.happened.add("decided twice")
	case w.record().Pause.Decided():
		w.happened.add("decided as a whole")
	default:
		w.happened.add("decided in part")
	}
}

// carry makes a replica send the decisions of the desk to the backend, without the client.
func (w *world) carry(mode string) {
	w.goesByItself(mode, func(m *mortal) {
		_ = m.Carry(context.Background(), recordKey("/", "t"))
	})
}

// looks makes a replica look for decisions that wait to be sent. A process does so every two
// seconds.
func (w *world) looks(mode string) {
	before := w.record()
	old := before.State == store.Open && before.Pause.Decided() && time.Since(before.Pause.Decisions[0].At) >= carry.DefaultMaxAge
	called := w.called
	w.looking = true
	w.goesByItself(mode, func(m *mortal) {
		ctx, cancel := context.WithCancel(context.Background())
		c := carry.New(carry.Options{Store: w.store, Agents: map[string]carry.Agent{"": m}, Log: slog.New(slog.DiscardHandler)})
		var looks sync.WaitGroup
		looks.Go(func() { c.Run(ctx) })
		w.sleep(3 * time.Second)
		cancel()
		looks.Wait()
	})
	w.looking = false
	if old {
		w.happened.add("too old for Holdpoint")
		if w.called != called {
			w.violates("a decision of more than an hour ago was carried without the chat")
		}
	}
}

// goesByItself calls do with a replica. No client takes part.
func (w *world) goesByItself(mode string, do func(m *mortal)) {
	before := w.record()
	w.mode, w.own = mode, true
	m, hits := w.replicas[w.at], w.plan.hit()
	w.handOver()
	do(m)
	w.handOver()
	w.own = false
	switch now := w.record(); {
	case before.State != store.Open || !before.Pause.Decided():
	case m.dead.Load():
		w.happened.add("died while it carried")
	case w.plan.hit() != hits:
		w.happened.add("the store stumbled while it carried")
	case now.State == store.Open && now.Pause.ID == before.Pause.ID && now.Pause.Decided():
		w.happened.add("given back")
	}
	w.revive(m)
}

// whileCarried is called while the decisions of the desk are at the backend. It makes the other
// replica send the same decisions. They must not reach the backend a second time.
func (w *world) whileCarried() {
	called := w.called
	if err := w.replicas[1-w.at].Carry(context.Background(), recordKey("/", "t")); err == nil {
		w.violates("both replicas have carried it")
	}
	if w.called != called {
		w.violates("a request reached the backend while a resume was there")
	}
}

// noteCarried counts the way in which answers reached the backend: from the chat, the desk or both.
func (w *world) noteCarried(rec store.Record) {
	p, decided := rec.Pause, 0
	for _, i := range p.Interrupts {
		if p.Decision(i.ID) == nil {
			continue
		}
		decided++
		if at, expires := i.Expires(); expires && time.Now().After(at) {
			w.happened.add("outlived its question")
		}
	}
	switch {
	case w.own:
		if w.looking {
			w.happened.add("carried by a look")
		} else {
			w.happened.add("carried")
		}
		w.happened.add("carried: " + w.mode)
	case decided == 0:
		w.happened.add("answered in the chat")
	case !p.Decided():
		w.happened.add("the chat had the rest")
	case answering(w.last):
		w.happened.add("the chat said the same")
	default:
		w.happened.add("carried by the chat")
	}
}

// frees gives up the open pause at the desk. This must send nothing to the backend.
func (w *world) frees() {
	rec := w.record()
	if rec.Pause == nil {
		return
	}
	tokens := &api.Tokens{}
	list, err := api.ParseTokens(strings.Repeat("a", 32))
	if err != nil {
		w.t.Fatal(err)
	}
	tokens.Set(list)
	d := api.New(api.Options{Store: w.store, Tokens: tokens, Events: taker(func(e *event.Event) error {
		if e.Kind == event.InDoubt && rec.Doubt != nil {
			return nil // the run that found the doubt reported it; this event is for other clients
		}
		return w.tally.Take(e)
	})})
	called := w.called
	req := httptest.NewRequest(http.MethodDelete, fmt.Sprintf("/v1/approvals/%s.%s", recordKey("/", "t"), rec.Pause.ID), http.NoBody)
	req.Header.Set("Authorization", "Bearer "+strings.Repeat("a", 32))
	answer := httptest.NewRecorder()
	d.ServeHTTP(answer, req)
	switch {
	case answer.Code == http.StatusOK:
		w.happened.add("given up at the desk")
		for _, i := range rec.Pause.Interrupts {
			w.cancelled[i.ID] = true
		}
		if w.record().State != store.None || w.called != called {
			w.violates("given up, and the record is %q", w.record().State)
		}
	case rec.State != store.Claimed:
		w.violates("it cannot be given up: %d %s", answer.Code, answer.Body)
	}
}

// revive replaces the replica m by a new process, if m is dead.
func (w *world) revive(m *mortal) {
	if m.dead.Load() {
		m.kill()
		w.restart(w.at)
	}
}

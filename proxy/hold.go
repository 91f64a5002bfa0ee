package proxy

import (
	"context"
	"net/http"
	"net/url"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/store"
)

// A pause may be answered by another door than the chat's resume. Two ways lead on from there, and
// both are those of a resume: the request is judged, prepared, claimed and sent like any other. A run
// that is held open makes another attempt, in mid-run. Without one, Holdpoint makes a request of its
// own, which is served to nobody. Nothing opens such a door yet.

// awaitAnswers waits for what the run is held open for, and goes on with the answers. If none come,
// the pause is told.
func (b *body) awaitAnswers() {
	s := b.waiting
	b.waiting = nil
	select {
	case entries := <-s.answers:
		if len(entries) > 0 {
			b.goOn(s, entries)
			return
		}
	case <-b.r.life.ctx.Done(): // the client has left, or the proxy drains: the question stands
	}
	b.tell(b.r.tellSaved(s, nil))
	b.phase.advance(over)
}

// goOn begins another attempt behind a saved pause, with answers to it.
func (b *body) goOn(s *savedPause, entries []agui.ResumeEntry) {
	r := b.r
	in := r.came.WithoutCommand().WithResume(entries)
	r.came, r.paused = &in, nil
	r.carries(s.pause.ID)
	r.transcript.Drop()
	r.attempts(r.out)
	stands := r.record.State == store.Open && r.record.Pause.ID == s.pause.ID
	if quiet := r.verdict.Do == contract.Quiet && r.verdict.Ends == ""; quiet && stands {
		b.tell(r.tellSaved(s, nil)) // these were no answers to it
		b.phase.advance(over)
	} else if told := r.ruled(); told != nil {
		b.tell(told[1:]) // the client has its RUN_STARTED
		b.phase.advance(over)
	} else {
		b.phase.advance(between)
	}
}

// carries makes the request one that carries a pause, and nothing else.
func (r *run) carries(pauseID string) { r.carry, r.judged, r.readFor = pauseID, true, pauseID }

// carry makes a request of Holdpoint's own that carries a pause: in, on a path as a client has it. It
// is served to nobody, and returns when its run has ended, or goes on by itself.
func (h *Handler) carry(ctx context.Context, path *url.URL, in agui.RunInput, pauseID string) {
	req := (&http.Request{Method: http.MethodPost, URL: path, Header: http.Header{}, Body: http.NoBody}).WithContext(ctx)
	route, ok := h.route(path.Path)
	if !ok {
		return
	}
	r := h.newRun(req, route, &in)
	r.carries(pauseID)
	r.serve(nobody{headerOnly{}})
}

// nobody is the ResponseWriter of a run without a client.
type nobody struct{ headerOnly }

// FlushError implements http.Flusher, with an error, for http.ResponseController.
func (nobody) FlushError() error { return nil }

package proxy

import (
	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/store"
)

// A pause may be answered by another door than the chat's resume. Two ways lead on from there, and
// both are those of a resume: the request is judged, prepared, claimed and sent like any other. A
// run that is held open makes another attempt, in mid-run. Without one, Holdpoint makes a request
// of its own, which is served to nobody. Nothing opens such a door yet.

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
	in := r.request.input.WithoutCommand().WithResume(entries)
	r.request.input, r.report.paused = &in, nil
	r.readFor.carry(s.pause.ID)
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

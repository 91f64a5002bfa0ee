package proxy

import (
	"cmp"
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/settle"
	"holdpoint/proxy/internal/tell"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// The backend may be another Holdpoint. If it refuses an answer, its RUN_FINISHED has the questions
// that are still open, and the following RUN_ERROR has the reason. The outcome of the answer
// follows only from both together, so the RUN_FINISHED is held back until the RUN_ERROR arrives.

// isRefusal reports whether an event is the RUN_FINISHED of a run that another Holdpoint refused.
func isRefusal(ev agui.Event) bool {
	return ev.Type == agui.RunFinished && agui.View(ev.JSON).Get("metadata.holdpoint.refusal").IsObject()
}

// refusedNow reports whether such an event is held back. It may be called by a goroutine that does
// not read the stream.
func (b *body) refusedNow() bool {
	b.reader.gate.Lock()
	defer b.reader.gate.Unlock()
	return b.refused.Type != agui.Unknown
}

// afterRefusal processes the event that follows such a RUN_FINISHED.
func (b *body) afterRefusal(ev agui.Event) {
	finish := b.refused
	if ev.Type != agui.RunErrored {
		b.concludeRefused()
		b.event(ev)
		return
	}
	end := settle.End{End: translate.End{Event: ev}, Known: true}
	switch {
	case asksAgain(finish, b.judge.record.Pause):
		end.Inner = translate.Untouched
	case agui.View(finish.JSON).Get("outcome").Exists():
		b.concludeRefused()
		b.event(ev)
		return
	case agui.View(finish.JSON).Get("metadata.holdpoint.refusal.mayHaveRun").Bool():
		end.Inner = translate.InDoubt
		end.Errored = !tell.NeedsAftermath(agui.Code(ev.Get("code").Str)) // the other Holdpoint keeps snapshots in that case too
	}
	b.conclude(end)
}

// concludeRefused ends an exchange with the RUN_FINISHED that was held back. A Holdpoint that takes
// this one for a web page, because its request has the page's Origin, sends no RUN_ERROR after
// interrupts.
func (b *body) concludeRefused() {
	end := settle.End{End: translate.End{Event: b.refused}}
	if asksAgain(b.refused, b.judge.record.Pause) {
		why := agui.View(b.refused.JSON).Get("metadata.holdpoint.refusal")
		failed := agui.Errorf(agui.Code(why.Get("code").Str), "%s", cmp.Or(why.Get("detail").Str, why.Get("text").Str))
		end = settle.End{End: translate.End{Event: failed.Event()}, Known: true, Inner: translate.Untouched}
	}
	b.conclude(end)
}

// asksAgain reports whether a RUN_FINISHED asks exactly the questions of the pause.
func asksAgain(finish agui.Event, p *agui.Pause) bool {
	var asked, open []string
	for i := range kit.Interrupts(finish) {
		asked = append(asked, i.Get("id").Str)
	}
	for _, i := range p.Interrupts {
		open = append(open, i.Native)
	}
	slices.Sort(asked)
	slices.Sort(open)
	return slices.Equal(asked, open)
}

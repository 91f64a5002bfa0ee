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

// The backend may be another Holdpoint. If it refuses an answer, its RUN_FINISHED contains the
// questions that are still open, and the RUN_ERROR after that contains the reason. What became of
// the answer follows only from both together. So the RUN_FINISHED is held back until the RUN_ERROR
// arrives.

// isRefusal reports whether an event is the RUN_FINISHED of a run that another Holdpoint has
// refused.
func isRefusal(ev agui.Event) bool {
	return ev.Type == agui.RunFinished && agui.View(ev.JSON).Get("metadata.holdpoint.refusal").IsObject()
}

// refusedNow reports whether the RUN_FINISHED of a refusal is held back now. A goroutine that does
// not read the stream may call it.
func (b *body) refusedNow() bool {
	b.reader.gate.Lock()
	defer b.reader.gate.Unlock()
	return b.refused.Type != agui.Unknown
}

// afterRefusal processes the event that follows the RUN_FINISHED of a refusal.
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
		// in that case the other Holdpoint stores snapshots too
		end.Errored = !tell.NeedsAftermath(agui.Code(ev.Get("code").Str))
	}
	b.conclude(end)
}

// concludeRefused ends an exchange with the RUN_FINISHED that was held back. The other Holdpoint
// sends no RUN_ERROR after it if the request has the Origin of a web page, because it then
// considers this Holdpoint a web page.
func (b *body) concludeRefused() {
	end := settle.End{End: translate.End{Event: b.refused}}
	if asksAgain(b.refused, b.judge.record.Pause) {
		why := agui.View(b.refused.JSON).Get("metadata.holdpoint.refusal")
		failed := agui.Errorf(agui.Code(why.Get("code").Str), "%s", cmp.Or(why.Get("detail").Str, why.Get("text").Str))
		end = settle.End{End: translate.End{Event: failed.Event()}, Known: true, Inner: translate.Untouched}
	}
	b.conclude(end)
}

// asksAgain reports whether a RUN_FINISHED contains exactly the questions of the pause p.
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

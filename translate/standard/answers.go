package standard

import (
	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// Answers implements translate.Dialect. It reads the entries of resume, and command.resume. A
// client sends command.resume if it supports only the CUSTOM form and was shown the event that
// Holdpoint makes.
func (*Dialect) Answers(in agui.RunInput, p agui.Pause) ([]agui.Answer, error) {
	answers, err := givenAnswers(in, p)
	for n, a := range answers {
		i := p.Interrupt(a.ID)
		if i == nil {
			continue
		}
		answers[n] = profileOfInterrupt(i).normalize(a)
	}
	return kit.CancelsLost(p, answers), err
}

// givenAnswers returns the answers as the client sent them, before they are brought into the
// backend's form.
func givenAnswers(in agui.RunInput, p agui.Pause) ([]agui.Answer, error) {
	if i := mastraInterrupt(in, p); i != nil {
		return answersOfMastra(in, i)
	}
	return kit.Answers(in, p)
}

// answersOfMastra reads an answer that the client sent together with an echo of Mastra's
// announcement. Mastra itself declines a call with the value false, so false becomes a cancel.
func answersOfMastra(in agui.RunInput, i *agui.Interrupt) ([]agui.Answer, error) {
	sent, ok := in.CommandResume()
	if !ok {
		return kit.Entries(in), nil
	}
	value := kit.ParseText(gjson.ParseBytes(sent))
	a := agui.Answer{ID: i.ID, Status: agui.Resolved, Payload: kit.Payload(value), Native: true}
	if value.Type == gjson.False {
		a.Status, a.Payload = agui.Cancelled, nil
	}
	return kit.OneSet(kit.Entries(in), []agui.Answer{a})
}

// mastraInterrupt returns the interrupt whose announcement of Mastra the client echoes, or nil if
// there is no such echo. If the client was shown Holdpoint's announcement, the echo has the
// published id. If the client was shown the backend's own form, the echo identifies the interrupt
// by its runId and toolCallId.
func mastraInterrupt(in agui.RunInput, p agui.Pause) *agui.Interrupt {
	if kit.EchoOf(in) != kit.Mastra {
		return nil
	}
	event := kit.ParseText(gjson.ParseBytes(in.InterruptEvent()))
	if id := event.Get("id"); id.Exists() {
		return p.Interrupt(id.Str)
	}
	run, call := event.Get("runId").Str, event.Get("toolCallId").Str
	for n := range p.Interrupts {
		if i := &p.Interrupts[n]; call != "" && i.Native == run+"::"+call {
			return i
		}
	}
	return nil
}

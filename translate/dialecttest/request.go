package dialecttest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// Input parses a body as a run.
func Input(t testing.TB, body string) agui.RunInput {
	t.Helper()
	in, ok, err := agui.ParseInput([]byte(body))
	if !agui.ValidJSON([]byte(body)) || !ok || err != nil {
		t.Fatalf("no run input (%v, %v): %s", ok, err, body)
	}
	return in
}

// Quoted returns s as JSON text.
func Quoted(s string) string { return string(agui.MustMarshal(s)) }

// Entry returns an entry of the resume array. An empty payload makes a cancel.
func Entry(id, payload string) string {
	if payload == "" {
		return `{"interruptId":` + Quoted(id) + `,"status":"cancelled"}`
	}
	return `{"interruptId":` + Quoted(id) + `,"status":"resolved","payload":` + payload + `}`
}

// ResumeArray returns the member resume of a run.
func ResumeArray(entries ...string) string { return `"resume":[` + strings.Join(entries, ",") + `]` }

// Command returns the member of a run that answers in the form used before resume existed.
func Command(value string) string { return `"forwardedProps":{"command":{"resume":` + value + `}}` }

// Code returns the code of an error: "" if it is nil, and "other: " with its text if it is not an
// *agui.RunError, which a dialect must not return.
func Code(err error) agui.Code {
	var told *agui.RunError
	switch {
	case errors.As(err, &told):
		return told.Code
	case err != nil:
		return agui.Code("other: " + err.Error())
	}
	return ""
}

// IsRunError reports whether an error can be sent to a client. A dialect must not return other
// errors.
func IsRunError(err error) bool {
	var told *agui.RunError
	return errors.As(err, &told)
}

// WithIDs returns a pause as proxy stores it. Its ids are <native>~r1, <native>~r2 and so on. If
// the dialect sets no plain yes and no, they are taken from the published schema.
func WithIDs(p agui.Pause) agui.Pause {
	p.ID, p.Interrupts = "0123456789abcdef0123456789abcdef", slices.Clone(p.Interrupts)
	for n := range p.Interrupts {
		i := &p.Interrupts[n]
		i.ID = fmt.Sprintf("%s~r%d", i.Native, n+1)
		i.Object = agui.SetString(i.Object, "id", i.ID)
		if i.Yes == nil && i.No == nil {
			i.Yes, i.No = kit.Words(*i)
		}
		if i.ReasonMember == "" {
			i.ReasonMember = kit.ReasonMember(*i)
		}
	}
	return p
}

// Admit returns the answers in the pause's order, or an error if they do not cover the pause. It
// does what proxy does between Answers and Begin, without schemas.
func Admit(p agui.Pause, answers []agui.Answer) ([]agui.Answer, error) {
	for _, a := range answers {
		if p.Interrupt(a.ID) == nil {
			return nil, agui.Errorf(agui.UnknownInterruptID, "%q", a.ID)
		}
	}
	var ordered []agui.Answer
	for _, i := range p.Interrupts {
		at := slices.IndexFunc(answers, func(a agui.Answer) bool { return a.ID == i.ID })
		if at < 0 {
			return nil, agui.Errorf(agui.PartialResume, "%q", i.ID)
		}
		ordered = append(ordered, answers[at])
	}
	return ordered, nil
}

// Resume passes a request with answers through Answers, Admit and Begin. It removes the messages
// that carry the answers, as proxy does. Each change is called with the request before Begin.
func Resume(d translate.Dialect, p agui.Pause, in agui.RunInput, l *Log, change ...func(*translate.Request)) (translate.Out, translate.Run, error) {
	answers, err := Answers(d, in, p)
	if err != nil {
		return translate.Out{}, nil, err
	}
	return ResumeWith(d, p, in, answers, l, change...)
}

// ResumeWith does the same with answers that were already read.
func ResumeWith(d translate.Dialect, p agui.Pause, in agui.RunInput, answers []agui.Answer, l *Log, change ...func(*translate.Request)) (translate.Out, translate.Run, error) {
	answers, err := Admit(p, answers)
	if err != nil {
		return translate.Out{}, nil, err
	}
	r := &translate.Request{Input: in, ClientMessages: in.Messages, Transcript: l, Pause: p, Answers: answers}
	rest := slices.DeleteFunc(slices.Clone(in.Messages), func(m agui.Message) bool {
		return slices.ContainsFunc(answers, func(a agui.Answer) bool {
			return a.Message != (agui.SeenMessage{}) && agui.NewSeenMessage(m) == a.Message
		})
	})
	if len(rest) < len(in.Messages) {
		r.Input = in.WithMessages(rest)
	}
	for _, c := range change {
		c(r)
	}
	out, run, err := d.Begin(r)
	if err == nil && len(out.Body) > 0 && !agui.ValidJSON(out.Body) {
		err = fmt.Errorf("the body is no JSON: %s", out.Body)
	}
	return out, run, err
}

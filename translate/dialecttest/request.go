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

// Input parses the body as a run, and ends the test if it is not one.
func Input(t testing.TB, body string) agui.RunInput {
	t.Helper()
	in, ok, err := agui.ParseInput([]byte(body))
	if !agui.ValidJSON([]byte(body)) || !ok || err != nil {
		t.Fatalf("no run input (%v, %v): %s", ok, err, body)
	}
	return in
}

// Quoted returns s as a JSON string.
func Quoted(s string) string { return string(agui.MustMarshal(s)) }

// Entry returns an entry of the resume array for the question id. If payload is "", the entry is a
// cancel.
func Entry(id, payload string) string {
	if payload == "" {
		return `{"interruptId":` + Quoted(id) + `,"status":"cancelled"}`
	}
	return `{"interruptId":` + Quoted(id) + `,"status":"resolved","payload":` + payload + `}`
}

// ResumeArray returns the JSON member "resume" of a request, with these entries.
func ResumeArray(entries ...string) string { return `"resume":[` + strings.Join(entries, ",") + `]` }

// Command returns the JSON member "forwardedProps" of a request that answers with a command.
// Clients answer in this form if they do not know resume.
func Command(value string) string { return `"forwardedProps":{"command":{"resume":` + value + `}}` }

// Code returns the code of err. It returns "" if err is nil. If err is not an *agui.RunError, Code
// returns "other: " and its text; a dialect must not return such an error.
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

// IsRunError reports whether err is an *agui.RunError, which can be sent to a client. A dialect
// must not return other errors.
func IsRunError(err error) bool {
	var told *agui.RunError
	return errors.As(err, &told)
}

// WithIDs returns the pause as the package proxy stores it. The published ids are <native>~r1,
// <native>~r2 and so on. If the dialect sets no plain yes and no, WithIDs takes them from the
// published schema.
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

// Admit returns the answers in the order of the pause's questions. It returns an error if a
// question has no answer, or an answer has no question. It does what the package proxy does between
// Answers and Begin, except that it does not check schemas.
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

// Resume gives a request with answers to Answers, Admit and Begin. It removes the messages that are
// answers, as the package proxy does. Before Begin it calls each function of change with the
// request.
func Resume(d translate.Dialect, p agui.Pause, in agui.RunInput, l *Log, change ...func(*translate.Request)) (translate.Out, translate.Run, error) {
	answers, err := Answers(d, in, p)
	if err != nil {
		return translate.Out{}, nil, err
	}
	return ResumeWith(d, p, in, answers, l, change...)
}

// ResumeWith is Resume for answers that were already read.
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

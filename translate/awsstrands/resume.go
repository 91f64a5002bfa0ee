package awsstrands

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/strandsapi"
	"holdpoint/translate/kit"
)

// resume returns the request that sends the answers, and the parameter r with the new messages that
// remain for the next exchange. Python refuses every answer without the results of the client's own
// calls. So these results are required if Python's adapter asked (RAN ag_ui_strands 0.3.0 and
// 1.0.2).
func (d *Dialect) resume(r *translate.Request) (translate.Out, *translate.Request, error) {
	list, err := d.entries(r)
	if err != nil {
		return translate.Out{}, nil, err
	}
	results, err := kit.ClientResults(r, kit.ClientCalls(r), askedByPython(r.Pause) && !cancelsAll(r.Answers))
	if err != nil {
		return translate.Out{}, nil, err
	}
	out, left := d.resumeRequest(r, list, results)
	return out, left, nil
}

func cancelsAll(answers []agui.Answer) bool {
	return !slices.ContainsFunc(answers, func(a agui.Answer) bool { return a.Status != agui.Cancelled })
}

// resumeRequest returns the request with the resume array list, and the parameter r with the new
// messages that remain for the next exchange.
//
// The results of the client's own calls are sent with the answers. Other new messages are not:
// Python puts the messages of the request before the results of the calls that wait, and models
// refuse a message between a call and its result.
//
// If the client sent fewer messages than the record has, those of the record are sent. Python
// continues with them, and a snapshot of TypeScript would delete the missing ones at the client.
func (d *Dialect) resumeRequest(r *translate.Request, list json.RawMessage, results []agui.Message) (translate.Out, *translate.Request) {
	before, recorded := kit.MessagesBefore(r)
	in := r.Input
	if before = kit.WithResults(r, before, results); recorded || len(results) > 0 || len(before) != len(in.Messages) {
		in = in.WithMessages(before)
	}
	whole := in.Messages
	in = withoutHeld(in, r.EndedPauses, r.Pause)
	body := agui.DeleteKey(kit.BodyWithoutCommand(in, in.Raw), "protocolVersion")
	left := r.With(r.Input, kit.NewWithoutResults(r, results))
	return translate.Out{
		Body: agui.SetKey(body, "resume", list), Resumes: true, WithheldMessages: missingFrom(whole, in.Messages),
		TakesNew: len(results) > 0, UnsentMessages: left.NewMessages,
	}, left
}

// next returns an exchange that sends the new messages, which came with the answers, as an ordinary
// run.
func (d *Dialect) next(r *translate.Request) *translate.Exchange {
	whole := kit.WithNewMessages(r)
	in := r.Input.WithMessages(whole)
	in = withoutHeld(in, append(slices.Clone(r.EndedPauses), translate.EndedPause{Pause: r.Pause}), agui.Pause{})
	out := translate.Out{Body: kit.WithoutAnswers(in, in.Messages), TakesNew: true, WithheldMessages: missingFrom(whole, in.Messages)}
	next := d.plainRun(r, out.WithheldMessages)
	next.isFollowUp = true
	return &translate.Exchange{Out: out, Run: next}
}

// entries returns the resume array. The adapters treat two questions with the same id as one
// question with one answer. A lost question is cancelled under each id that it may have.
func (d *Dialect) entries(r *translate.Request) (json.RawMessage, error) {
	if question, isLost := kit.LostOf(&r.Pause.Interrupts[0]); isLost {
		return kit.CancelArray(question.Natives, ""), nil
	}
	out := []byte{'['}
	sent, came := map[string]string{}, kit.EntriesByID(r.Input)
	for n, a := range r.Answers {
		i := r.Pause.Interrupts[n]
		said, err := d.answer(i, a)
		if err != nil {
			return nil, err
		}
		says := string(said.Status) + " " + string(agui.Canonical(said.Payload))
		if other, twice := sent[i.Native]; twice || i.Native == "" {
			if other != says {
				return nil, agui.Errorf(agui.InvalidPayload, textTwinIDs, len(r.Answers))
			}
			continue
		}
		sent[i.Native] = says
		out = kit.AppendElement(out, entry(came[a.ID].Raw, i.Native, said))
	}
	return append(out, ']'), nil
}

// entry returns a resume entry with the backend's id of the question, and the status and payload of
// answer. The parameter clientEntry is the client's own entry, whose other members are kept. It is
// "" if the client answered in another form.
func entry(clientEntry, native string, answer agui.Answer) []byte {
	clientEntry = cmp.Or(clientEntry, "{}")
	out := agui.SetString([]byte(clientEntry), "interruptId", native)
	out = agui.SetString(out, "status", string(answer.Status))
	if answer.Payload == nil {
		return agui.DeleteKey(out, "payload")
	}
	return agui.SetKey(out, "payload", answer.Payload)
}

// answer returns the answer a in the form that the adapter, and its hook or tool, can read.
func (d *Dialect) answer(i agui.Interrupt, a agui.Answer) (agui.Answer, error) {
	kept := privateOf(i)
	rule, ruled := d.rules.Answer(kept.Name)
	switch {
	case kept.Own, kept.Python && !ruled:
		return unchangedAnswer(i, a, kept)
	case a.Status == agui.Cancelled && (rule.Profile == strandsapi.Raw && rule.Cancel == nil || kept.FromTool && !ruled):
		a.Payload = nil // for a cancel the adapter makes an object itself
		return a, nil
	}
	payload, err := rule.ValueFor(a, !kept.FromTool)
	if told := (*agui.RunError)(nil); errors.As(err, &told) {
		return a, agui.Errorf(told.Code, textRule, told.Message)
	}
	a.Status, a.Payload = agui.Resolved, payload
	return a, nil
}

// unchangedAnswer returns the answer to be sent unchanged. It returns an error for an answer
// without a payload to TypeScript's adapter, which would repeat its question forever; Python's
// adapter accepts such an answer. It also refuses edited arguments, because no adapter applies
// them, and the call would run without the edits.
func unchangedAnswer(i agui.Interrupt, a agui.Answer, state private) (agui.Answer, error) {
	switch {
	case a.Status == agui.Cancelled:
		a.Payload = nil
	case a.Payload == nil && !state.Python:
		return a, agui.Errorf(agui.InvalidPayload, textNoPayload, a.ID)
	case a.Payload == nil:
		a.Payload = json.RawMessage("null")
	case bringsEdits(a.Payload) && !gjson.GetBytes(i.Schema(), "properties.editedArgs").Exists():
		return a, agui.Errorf(agui.InvalidPayload, textNoEdits, a.ID)
	}
	return a, nil
}

// bringsEdits reports whether the payload has edited arguments, unless it is a plain no.
func bringsEdits(payload json.RawMessage) bool {
	object := gjson.ParseBytes(payload)
	said := kit.Members(object, "approved")
	return len(kit.Members(object, "editedArgs")) > 0 && (len(said) != 1 || said[0].Type != gjson.False)
}

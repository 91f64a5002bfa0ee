package client

import (
	"encoding/json"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
)

// A Refusal tells the person at the screen why a stream ends in an error. It is the member
// metadata.holdpoint.refusal of the RUN_FINISHED, and of each interrupt that is sent again.
type Refusal struct {
	Code   agui.Code `json:"code,omitempty"`
	Text   string    `json:"text"`             // for people: without ids or paths
	Detail string    `json:"detail,omitempty"` // for developers: the message of the RUN_ERROR
	// MayHaveRun is true if it is not known whether the approved action was carried out.
	MayHaveRun bool `json:"mayHaveRun,omitempty"`
	// StandingAnswers are the answers that count in place of the refused ones. A page can use them
	// to word the reason itself.
	StandingAnswers []contract.StandingAnswer `json:"stands,omitempty"`
}

// WithRefusal adds the refusal why to a RUN_FINISHED. It returns the event unchanged if why is nil,
// or if the client gets questions in the backend's own form.
func (l Listener) WithRefusal(finish agui.Event, why *Refusal) agui.Event {
	if why == nil || l.showsNativeForm() {
		return finish
	}
	return finish.WithJSON(withRefusal(finish.JSON, why))
}

// ExplainedQuestions adds the refusal why to each interrupt in a RUN_FINISHED. It says why the
// interrupts are sent again.
func ExplainedQuestions(finish agui.Event, why *Refusal) agui.Event {
	var list []json.RawMessage
	for _, i := range gjson.GetBytes(finish.JSON, "outcome.interrupts").Array() {
		list = append(list, withRefusal([]byte(i.Raw), why))
	}
	return finish.WithJSON(agui.SetKey(finish.JSON, "outcome.interrupts", agui.List(list)))
}

// WithRefusal returns a copy of the pause p with the refusal why in each interrupt. The refusal
// says why the interrupts are sent again.
func WithRefusal(p *agui.Pause, why *Refusal) *agui.Pause {
	told := *p
	told.Interrupts = append([]agui.Interrupt(nil), p.Interrupts...)
	for n := range told.Interrupts {
		i := &told.Interrupts[n]
		i.Object = withRefusal(i.Object, why)
	}
	return &told
}

// withRefusal returns a JSON object with the refusal why in its metadata. If metadata is not an
// object, it returns the object unchanged.
func withRefusal(object []byte, why *Refusal) []byte {
	if m := agui.View(object).Get("metadata"); m.Exists() && !m.IsObject() {
		return object
	} else if h := m.Get("holdpoint"); h.Exists() && !h.IsObject() {
		return object
	}
	return agui.SetKey(object, "metadata.holdpoint.refusal", agui.MustMarshal(why))
}

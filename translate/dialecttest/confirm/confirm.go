// Package confirm is an example of a backend whose answers are words: it asks by a call of
// confirm_step, and reads the text ACCEPT or REJECT as the answer. docs/new-dialect.md refers to
// it.
package confirm

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/calls"
	"holdpoint/translate/kit"
)

// Name is the name of the dialect.
const Name = "confirm"

// yes and no are the words that the backend reads. It ignores upper and lower case, and white space
// around a word.
const yes, no = "ACCEPT", "REJECT"

// step is the only kind of question. It has Content and not Value, because with Value only a cancel
// is a denial.
var step = &calls.Kind{Name: "step", Content: say, Unwrap: unwrap, Results: calls.Always}

// decision reads the payload of a client's answer. Its method Clear refuses a payload that is not a
// clear decision.
var decision = &calls.Words{Key: "approved"}

// say returns the word that is sent for an answer. A cancel is sent as the no.
func say(_ calls.PrivateState, a agui.Answer) (content string, denies bool, err error) {
	if a.Status == agui.Cancelled {
		return no, true, nil
	}
	payload, ok := decision.Clear(a.Payload)
	switch {
	case !ok:
		return "", false, agui.Errorf(agui.InvalidPayload, textWrongPayload, a.ID)
	case gjson.GetBytes(payload, decision.Key).Bool():
		return yes, false, nil
	}
	return no, true, nil
}

// unwrap is the inverse of say. For a content that is not a word it returns null, which say
// refuses.
func unwrap(content string) json.RawMessage {
	switch wordIn(gjson.Parse(content)) {
	case yes:
		return json.RawMessage(`{"approved":true}`)
	case no:
		return json.RawMessage(`{"approved":false}`)
	}
	return json.RawMessage("null")
}

// wordIn returns the word that the backend reads in a content. It returns "" if the content is not
// one of the words.
func wordIn(content gjson.Result) string {
	word := strings.ToUpper(strings.TrimSpace(content.String()))
	if word == yes || word == no {
		return word
	}
	return ""
}

var (
	_ translate.Signer         = (*Dialect)(nil)
	_ translate.HistoryReader  = (*Dialect)(nil)
	_ translate.DecisionReader = (*Dialect)(nil)
)

// A Dialect is a Table.
type Dialect struct{ calls.Table }

// New makes the dialect.
func New(struct{}, translate.Warn) (*Dialect, error) {
	return &Dialect{calls.Table{
		Dialect: Name, Backend: "the backend",
		Ask:    question,
		Kinds:  []*calls.Kind{step},
		Resume: calls.Alone,
		Reads: func(m *calls.ToolMessage) bool {
			return slices.ContainsFunc(m.Contents, func(c gjson.Result) bool { return wordIn(c) != "" })
		},
		Errors: []calls.Error{
			{Prefix: "no such step", Fate: translate.Lost},
			{Prefix: "step was confirmed before", Fate: translate.InDoubt},
		},
	}}, nil
}

func question(c agui.Call, _ *translate.Request) (calls.Question, bool) {
	return calls.Question{
		Kind: step, Reason: "tool_call", Message: gjson.Get(c.Args, "step").Str,
		Call: c.ID, Schema: kit.ApprovalSchema,
	}, c.Name == "confirm_step"
}

// Name implements translate.Dialect.
func (*Dialect) Name() string { return Name }

// Sign implements translate.Signer, so that auto can detect the backend.
func (d *Dialect) Sign(ev agui.Event, r *translate.Request) bool {
	return calls.PlainEnd(ev) && d.Asks(r)
}

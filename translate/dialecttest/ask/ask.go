// Package ask is the example of docs/new-dialect.md, which quotes this file.
package ask

import (
	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/calls"
	"holdpoint/translate/kit"
)

// Name of the dialect.
const Name = "ask"

// approval is the only kind of question.
var approval = &calls.Kind{
	Name:    "approval",
	Words:   &calls.Words{Key: "approved"},
	Wrong:   `no {"approved": true or false}`,
	Cancel:  `{"approved":false,"cancelled":true}`,
	Results: calls.Always,
}

var (
	_ translate.Signer         = (*Dialect)(nil)
	_ translate.HistoryReader  = (*Dialect)(nil)
	_ translate.DecisionReader = (*Dialect)(nil)
)

// A Dialect is a Table.
type Dialect struct{ calls.Table }

// New makes the dialect. A dialect without options accepts struct{}.
func New(struct{}, translate.Warn) (*Dialect, error) {
	return &Dialect{calls.Table{
		Dialect: Name, Backend: "the backend", // in texts for people
		Ask:    question,
		Kinds:  []*calls.Kind{approval},
		Resume: calls.Alone,
		Errors: []calls.Error{{Prefix: "no such question", Fate: translate.Lost}},
	}}, nil
}

func question(c agui.Call, _ *translate.Request) (calls.Question, bool) {
	return calls.Question{
		Kind: approval, Reason: "tool_call", Message: gjson.Get(c.Args, "text").Str,
		Call: c.ID, Schema: kit.ApprovalSchema,
	}, c.Name == "ask"
}

// Name implements translate.Dialect.
func (*Dialect) Name() string { return Name }

// Sign lets auto detect the backend.
func (d *Dialect) Sign(ev agui.Event, r *translate.Request) bool {
	return calls.PlainEnd(ev) && d.Asks(r)
}

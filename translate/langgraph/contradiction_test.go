package langgraph

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

// TestContradictionIsNoApproval: a payload says yes under one key and no under another. It must not
// become an approval, whatever form the answer has.
func TestContradictionIsNoApproval(t *testing.T) {
	respond := `{"action_requests":[{"name":"f","args":{}}],"review_configs":[{"action_name":"f","allowed_decisions":["approve","edit","reject","respond"]}]}`
	for name, c := range map[string]struct{ value, payload string }{
		"review, type reject":       {jsHITL, `{"approved":true,"type":"reject"}`},
		"review, decisions reject":  {jsHITL, `{"approved":true,"decisions":[{"type":"reject"}]}`},
		"inbox, type ignore":        {inboxOne, `{"approved":true,"type":"ignore"}`},
		"approve beside an edit":    {jsHITL, `{"decisions":[{"type":"approve","editedAction":{"name":"send_email","args":{"to":"nobody"}}}]}`},
		"two edits":                 {respond, `{"type":"edit","editedArgs":{"a":1},"edited_action":{"name":"f","args":{"a":2}}}`},
		"two edits in the own form": {jsHITL, `{"decisions":[{"type":"edit","edited_action":{"name":"f","args":{"a":1}},"editedAction":{"name":"f","args":{"a":2}}}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDialect(t, Options{})
			p := pausedBy(t, d, started, custom(idA, c.value), finished)
			out, _, err := resumeWith(t, d, p, input(t, dialecttest.ResumeArray(dialecttest.Entry(idA+"~r1", c.payload))))
			if dialecttest.Code(err) != agui.InvalidPayload {
				t.Errorf("the backend gets %s (%v)", sent(out), err)
			}
		})
	}
}

// TestEditsAreJudgedInEveryForm: a wrong edit would stay in the graph's checkpoint for good. So
// each edit must be checked with the backend's args_schema, whatever form the answer has.
func TestEditsAreJudgedInEveryForm(t *testing.T) {
	value := `{"action_requests":[{"name":"f","args":{"n":1}}],"review_configs":[{"action_name":"f","allowed_decisions":["edit","respond"],"args_schema":{"type":"object","properties":{"n":{"type":"integer"}}}}]}`
	for _, payload := range []string{
		`{"type":"edit","edited_action":{"name":"f","args":{"n":"x"}}}`,
		`{"decisions":[{"type":"edit","edited_action":{"name":"f","args":{"n":"x"}}}]}`,
	} {
		t.Run(payload, func(t *testing.T) {
			d := newDialect(t, Options{})
			p := pausedBy(t, d, started, custom(idA, value), finished)
			out, _, err := resumeWith(t, d, p, input(t, dialecttest.ResumeArray(dialecttest.Entry(idA+"~r1", payload))), func(r *translate.Request) {
				r.Valid = func(schema, payload json.RawMessage) error {
					if n := gjson.GetBytes(payload, "n"); n.Exists() && n.Type != gjson.Number {
						return errors.New("n")
					}
					return nil
				}
			})
			if dialecttest.Code(err) != agui.InvalidPayload {
				t.Errorf("the backend gets %s (%v)", sent(out), err)
			}
		})
	}
}

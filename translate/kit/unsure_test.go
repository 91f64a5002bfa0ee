package kit

import (
	"encoding/json"
	"testing"

	"holdpoint/internal/agui"
)

func TestUnsure(t *testing.T) {
	for name, c := range map[string]struct {
		answer  agui.Answer
		refused bool
	}{
		"an approval": {agui.Answer{Status: agui.Resolved, Payload: json.RawMessage(`{"approved":true}`)}, true},
		"a value":     {agui.Answer{Status: agui.Resolved, Payload: json.RawMessage(`"Bob"`)}, true},
		"no payload":  {agui.Answer{Status: agui.Resolved}, true},
		"a denial":    {agui.Answer{Status: agui.Resolved, Payload: json.RawMessage(`{"approved":false}`)}, false},
		"a cancel":    {agui.Answer{Status: agui.Cancelled}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if err := Unsure(agui.Pause{}, c.answer); err != nil {
				t.Errorf("the pause is not contested: %v", err)
			}
			denial := agui.Answer{Status: agui.Resolved, Payload: json.RawMessage("false")}
			if err := Unsure(agui.Pause{Contested: true}, denial, c.answer); (err != nil) != c.refused {
				t.Errorf("refused: %v, want %v", err, c.refused)
			}
		})
	}
}

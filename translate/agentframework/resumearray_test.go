package agentframework

import (
	"encoding/json"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

func TestEditedArgs(t *testing.T) {
	for args, want := range map[string]string{
		`{"path":"a","n":1.0}`: `{"path":"z","n":1.0}`, `"{\"path\":\"a\"}"`: `{"path":"z"}`, `"no JSON"`: `{}`, ``: `{}`, `[1]`: `{}`,
	} {
		r := reply{ask: ask{Args: json.RawMessage(args)}, answer: agui.Answer{Status: agui.Resolved, Payload: json.RawMessage(`{"accepted":true,"path":"z","other":1}`)}}
		if got := string(r.editedArgs()); got != want || !gjson.Valid(got) {
			t.Errorf("%s became %s, want %s", args, got, want)
		}
	}
}

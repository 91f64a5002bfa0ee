package proxy

import (
	"net/http"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// A request is what a client has sent for a run. It may be Holdpoint's own; see readFor.
type request struct {
	http  *http.Request
	path  string         // as records are kept for it
	input *agui.RunInput // the body
}

// calls are the ids of the calls in the client's history.
func (r *request) calls() map[string]bool {
	ids := map[string]bool{}
	for _, m := range r.input.Messages {
		for _, c := range gjson.GetBytes(m.JSON, "toolCalls").Array() {
			ids[c.Get("id").Str] = true
		}
	}
	return ids
}

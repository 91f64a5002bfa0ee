package proxy

import (
	"net/http"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/clients"
	"holdpoint/proxy/internal/client"
	"holdpoint/proxy/internal/intake"
)

// A request is what a client has sent for a run. It may be Holdpoint's own; see readFor.
type request struct {
	http  *http.Request
	path  string         // as records are kept for it
	input *agui.RunInput // the body, with the thread as the backend knows it
	// client is the line of the client that sent it, nil if unknown.
	client *clients.Line
	// thread is the client's own id of the thread, if the backend gets another one; else "".
	thread string
	id     string // see intake.RequestID
	trace  string // of its traceparent, "" if it has none
	// answers says that it answers something, or that its thread waits for answers, see tell.Ended.
	answers bool
	ours    bool // nobody reads what it is told, see Handler.Carry
}

// newRequest returns the request of a run. The input is its own from then on.
func newRequest(req *http.Request, path string, in *agui.RunInput) request {
	in = client.WithPublishedIDs(in)
	return request{http: req, path: path, input: in, client: clients.Of(in), id: intake.RequestID(req), trace: intake.TraceID(req.Header)}
}

// declaredCalls returns the ids of the calls in the client's history whose tools the request
// declares.
func (r *request) declaredCalls() map[string]bool {
	ids := map[string]bool{}
	for _, m := range r.input.Messages {
		for _, c := range gjson.GetBytes(m.JSON, "toolCalls").Array() {
			if r.input.Declares(c.Get("function.name").Str) {
				ids[c.Get("id").Str] = true
			}
		}
	}
	return ids
}

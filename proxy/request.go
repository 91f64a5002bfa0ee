package proxy

import (
	"net/http"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/clients"
	"holdpoint/proxy/internal/client"
	"holdpoint/proxy/internal/intake"
)

// A request is a client's request for a run, or a request that Holdpoint sends itself (see ours).
type request struct {
	http  *http.Request
	path  string         // the path in the keys of the thread's records
	input *agui.RunInput // the body of the request; its thread id is the one for the backend
	// client is the client library that sent the request, nil if unknown.
	client *clients.Line
	// thread is the thread id that the client sent, if the backend gets another thread id;
	// otherwise it is "".
	thread string
	id     string // see intake.RequestID
	trace  string // the trace id in the traceparent of the request, "" if there is no trace id
	// answers means that the request answers a question, or that its thread has an open question,
	// see tell.EndOf.
	answers bool
	// Holdpoint itself sends the request, and no client reads the response, see Handler.Carry.
	isOwn bool
}

// newRequest returns the request of a run. From then on the request owns the input.
func newRequest(req *http.Request, path string, in *agui.RunInput) request {
	in = client.WithPublishedIDs(in)
	return request{http: req, path: path, input: in, client: clients.Of(in), id: intake.RequestID(req), trace: intake.TraceID(req.Header)}
}

// declaredCalls returns the ids of those calls in the client's history whose tools the request
// declares.
func (r *request) declaredCalls() map[string]bool {
	ids := map[string]bool{}
	for _, m := range r.input.Messages {
		for _, c := range gjson.GetBytes(m.JSON, "toolCalls").Array() {
			if r.input.Declares(c.Get("function.name").Str) {
				ids[agui.IDText(c.Get("id"))] = true
			}
		}
	}
	return ids
}

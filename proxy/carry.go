package proxy

import (
	"context"
	"net/http"
	"net/url"

	"holdpoint/internal/agui"
	"holdpoint/internal/principal"
)

// carry makes a request of Holdpoint's own that carries a pause: in, on a path as a client has it.
// It is served to nobody, and returns when its run has ended, or goes on by itself.
func (h *Handler) carry(ctx context.Context, path *url.URL, in agui.RunInput, pauseID string) {
	req := (&http.Request{Method: http.MethodPost, URL: path, Header: http.Header{}, Body: http.NoBody}).WithContext(ctx)
	route, ok := h.route(path.Path)
	if !ok {
		return
	}
	r := h.newRun(req, route, &in, principal.Who{})
	r.readFor.carry(pauseID)
	r.request.ours = true
	r.serve(nobody{headerOnly{}})
}

// nobody is the ResponseWriter of a run without a client.
type nobody struct{ headerOnly }

// FlushError implements http.Flusher, with an error, for http.ResponseController.
func (nobody) FlushError() error { return nil }

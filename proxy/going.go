package proxy

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/store"
	"holdpoint/translate"
)

// A pause keeps what it takes to go on without the client, if anybody may decide it elsewhere.

// OtherDoors says that questions may be decided at another door than the chat, and how Holdpoint
// goes on with them then.
type OtherDoors struct {
	// KeepsInput says that the record may hold the run's input: its store is sealed, or loses it with
	// the process. forwardedProps may have a token in them.
	KeepsInput bool
	// Headers are for requests of Holdpoint's own in the place of a client's credentials; nil: none.
	Headers func() http.Header
	// Forgets says that the store may forget a claim and keep the decision before it, as one that
	// fails over without having waited for its replicas. Holdpoint would send the answer again. nil:
	// it never does.
	Forgets func() bool
	// Home names this process and its backend, if a backend holds its questions in its own process:
	// then Holdpoint carries the answers to those only that it has seen itself. "": any process does.
	Home string
	// Tools says that a run may go on without the client although it declared tools.
	Tools bool
}

// maxInputKept is how much of a run's input a record keeps, in bytes.
const maxInputKept = 256 << 10

// continuation returns what the pause of this run keeps.
func (t *thread) continuation() *agui.Continuation {
	if t.opts.Elsewhere == nil {
		return nil
	}
	g := &agui.Continuation{Home: t.opts.Elsewhere.Home}
	in := t.request.input.Rewritten(agui.Rewrite{Replaced: true, NoResume: true, NoCommand: true})
	if t.opts.Elsewhere.KeepsInput && len(in.Raw) <= maxInputKept {
		g.Input = json.RawMessage(slices.Clone(in.Raw))
		if u := t.request.http.URL; u != nil {
			g.Query = strings.Clone(u.RawQuery)
		}
	} else {
		g.Lacks = append(g.Lacks, agui.NoInput)
	}
	if hasCredentials(t.request.http.Header) {
		g.Lacks = append(g.Lacks, agui.NoCredentials)
	}
	if len(in.Tools) > 0 {
		g.Lacks = append(g.Lacks, agui.NoTools)
	}
	if t.show == translate.ShowNative {
		g.Lacks = append(g.Lacks, agui.NoForm)
	}
	return g
}

// saysWho are parts of the names of headers that may say who sends a request: credentials, and
// what a trusted proxy in front has made of them.
var saysWho = [...]string{
	"auth", "cookie", "token", "api-key", "apikey", "secret", "credential", "session", "access-key", "subscription-key",
	"user", "email", "group", "role", "identity", "principal", "subject", "account", "tenant", "-org",
	"jwt", "oidc", "assertion", "signature", "cert",
}

// hasCredentials reports whether a request has a header that may say who sends it, by its name. If
// something else is taken for such a client, an answer only waits for the chat. One that is missed
// has the backend go on as nobody.
func hasCredentials(header http.Header) bool {
	for name := range header {
		name = strings.ToLower(name)
		if name == "user-agent" || strings.HasPrefix(name, "sec-") {
			continue // a browser's own
		}
		for _, part := range saysWho {
			if strings.Contains(name, part) {
				return true
			}
		}
	}
	return false
}

// Lacks returns why only the chat can go on with a pause; nil: Holdpoint can by itself.
func (h *Handler) Lacks(p *agui.Pause) []agui.Lack { return h.opts.lacks(p) }

func (o *Options) lacks(p *agui.Pause) []agui.Lack {
	by := o.Elsewhere
	if by == nil || p.Going == nil || p.Origin == nil {
		return []agui.Lack{agui.NoOrigin}
	}
	list := slices.DeleteFunc(slices.Clone(p.Going.Lacks), func(l agui.Lack) bool {
		return l == agui.NoCredentials && by.Headers != nil || l == agui.NoTools && by.Tools
	})
	if p.Going.Input == nil && !slices.Contains(list, agui.NoInput) {
		list = append(list, agui.NoInput)
	}
	if p.Origin.Wire != "" && !slices.Contains(list, agui.NoForm) {
		list = append(list, agui.NoForm) // a later Holdpoint has told it in a form that is not known here
	}
	if by.Home != "" && p.Going.Home == "" {
		list = append(list, agui.NoHome)
	}
	if by.Forgets != nil && by.Forgets() {
		list = append(list, agui.NoStore)
	}
	if p.Stripped && !slices.Contains(list, agui.NoMessages) {
		list = append(list, agui.NoMessages)
	}
	return list
}

// ownRequest returns a request of Holdpoint's own that is about the open pause of a record, and
// about nothing else. shown are the pause's snapshots.
func (h *Handler) ownRequest(req *http.Request, p *agui.Pause, shown store.Snapshots) (request, error) {
	body := json.RawMessage(`{}`)
	thread := agui.View(p.Finish).Get("threadId").Str
	if p.Going != nil && p.Going.Input != nil {
		body = p.Going.Input
	} else {
		body = agui.SetString(body, "threadId", thread)
	}
	edits := []agui.Edit{{Key: "runId", Text: h.opts.NewID()}}
	if shown.Messages != nil {
		edits = append(edits, agui.Edit{Key: "messages", JSON: shown.Messages})
	}
	if shown.State != nil {
		edits = append(edits, agui.Edit{Key: "state", JSON: shown.State})
	}
	in, ok, err := agui.ParseInput(agui.SetKeys(slices.Clone(body), edits...))
	if err != nil || !ok {
		return request{}, agui.Errorf(agui.UpstreamStatus, textInputUnread, err)
	}
	path, query := "/", ""
	if p.Origin != nil {
		path = p.Origin.Path
	}
	if p.Going != nil {
		query = p.Going.Query
	}
	if req.URL, err = url.ParseRequestURI(path); err != nil {
		return request{}, agui.Errorf(agui.UpstreamStatus, textPathUnread)
	}
	req.URL.RawQuery = query
	route, ok := h.intake.Route(req.URL.Path)
	if !ok {
		return request{}, agui.Errorf(agui.UpstreamStatus, textPathNoRun)
	}
	own := newRequest(req, route, &in)
	own.ours = true
	return own, nil
}

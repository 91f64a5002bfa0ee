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

// If a question may be decided at another door, its pause keeps what Holdpoint needs to continue
// the run without the client.

// OtherDoors configures decisions at doors other than the chat, and how Holdpoint then continues
// the run.
type OtherDoors struct {
	// KeepsInput permits the record to hold the run's input, because the store is sealed or loses
	// it with the process. forwardedProps may contain a token.
	KeepsInput bool
	// Headers returns the headers for requests that Holdpoint sends itself, in place of the
	// client's credentials; nil if there are none.
	Headers func() http.Header
	// StoreMayForget reports whether the store may lose a claim but keep the earlier decision, as a
	// store does that fails over without waiting for its replicas. Holdpoint would then send the
	// answer twice. nil means that the store never does.
	StoreMayForget func() bool
	// Home identifies this process and its backend, if the backend holds its questions in its own
	// memory: Holdpoint then sends only answers to questions that this process raised. "" means
	// that any process may.
	Home string
	// Tools permits a run to continue without the client although its request declared tools.
	Tools bool
}

// maxInputKept bounds the input of a run that a record keeps, in bytes.
const maxInputKept = 256 << 10

// continuation returns what the pause of this run keeps for continuing without the client, nil if
// there are no other doors.
func (t *thread) continuation() *agui.Continuation {
	if t.opts.OtherDoors == nil {
		return nil
	}
	g := &agui.Continuation{Home: t.opts.OtherDoors.Home}
	in := t.request.input.Rewritten(agui.Rewrite{Replaced: true, NoResume: true, NoCommand: true})
	if t.opts.OtherDoors.KeepsInput && len(in.Raw) <= maxInputKept {
		g.Input = json.RawMessage(slices.Clone(in.Raw))
		if u := t.request.http.URL; u != nil {
			g.Query = strings.Clone(u.RawQuery)
		}
	} else {
		g.ChatOnlyReasons = append(g.ChatOnlyReasons, agui.NoInput)
	}
	if hasCredentials(t.request.http.Header) {
		g.ChatOnlyReasons = append(g.ChatOnlyReasons, agui.NoCredentials)
	}
	if len(in.Tools) > 0 {
		g.ChatOnlyReasons = append(g.ChatOnlyReasons, agui.NoTools)
	}
	if t.show == translate.ShowNative {
		g.ChatOnlyReasons = append(g.ChatOnlyReasons, agui.NoForm)
	}
	return g
}

// identityHeaders lists parts of the names of headers that may identify the sender of a request:
// credentials, and headers in which a trusted proxy passes on the identity.
var identityHeaders = [...]string{
	"auth", "cookie", "token", "api-key", "apikey", "secret", "credential", "session", "access-key", "subscription-key",
	"user", "email", "group", "role", "identity", "principal", "subject", "account", "tenant", "-org",
	"jwt", "oidc", "assertion", "signature", "cert",
}

// hasCredentials reports whether a request has a header whose name suggests that it identifies the
// sender. If a header is taken for one by mistake, an answer only waits for the chat. If one is
// missed, the backend continues the run without an identity.
func hasCredentials(header http.Header) bool {
	for name := range header {
		name = strings.ToLower(name)
		if name == "user-agent" || strings.HasPrefix(name, "sec-") {
			continue // set by browsers
		}
		for _, part := range identityHeaders {
			if strings.Contains(name, part) {
				return true
			}
		}
	}
	return false
}

// ChatOnlyReasons returns the reasons why only the chat can continue a pause; nil if Holdpoint can
// continue it by itself.
func (h *Handler) ChatOnlyReasons(p *agui.Pause) []agui.ChatOnlyReason {
	return h.opts.chatOnlyReasons(p)
}

func (o *Options) chatOnlyReasons(p *agui.Pause) []agui.ChatOnlyReason {
	by := o.OtherDoors
	if by == nil || p.Continuation == nil || p.Origin == nil {
		return []agui.ChatOnlyReason{agui.NoOrigin}
	}
	list := slices.DeleteFunc(slices.Clone(p.Continuation.ChatOnlyReasons), func(l agui.ChatOnlyReason) bool {
		return l == agui.NoCredentials && by.Headers != nil || l == agui.NoTools && by.Tools
	})
	if p.Continuation.Input == nil && !slices.Contains(list, agui.NoInput) {
		list = append(list, agui.NoInput)
	}
	if p.Origin.Wire != "" && !slices.Contains(list, agui.NoForm) {
		list = append(list, agui.NoForm) // a later version of Holdpoint has shown it in a form that this version does not know
	}
	if by.Home != "" && p.Continuation.Home == "" {
		list = append(list, agui.NoHome)
	}
	if by.StoreMayForget != nil && by.StoreMayForget() {
		list = append(list, agui.NoStore)
	}
	if p.LacksSnapshots && !slices.Contains(list, agui.NoMessages) {
		list = append(list, agui.NoMessages)
	}
	return list
}

// ownRequest returns a request that Holdpoint sends itself, about the open pause p only. shown are
// the pause's snapshots.
func (h *Handler) ownRequest(req *http.Request, p *agui.Pause, shown store.Snapshots) (request, error) {
	body := json.RawMessage(`{}`)
	thread := agui.View(p.Finish).Get("threadId").Str
	if p.Continuation != nil && p.Continuation.Input != nil {
		body = p.Continuation.Input
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
	if p.Continuation != nil {
		query = p.Continuation.Query
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
	own.isOwn = true
	return own, nil
}

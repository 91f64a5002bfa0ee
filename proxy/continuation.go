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

// If a question may be decided at another door, such as the desk, its pause contains what Holdpoint
// needs to continue the run without the client.

// OtherDoors configures decisions that are made outside the chat, for example at the desk. It also
// configures how Holdpoint continues the run after such a decision.
type OtherDoors struct {
	// KeepsInput permits records to contain the run's input. The input may contain a token, in
	// forwardedProps. So this is true only if the store is sealed, or loses its records with the
	// process.
	KeepsInput bool
	// Headers returns the headers for requests that Holdpoint sends itself. They replace the
	// client's credentials. Headers is nil if there are none.
	Headers func() http.Header
	// StoreMayForget reports whether the store may lose a claim but retain the earlier decision. A
	// store can do so if it fails over without waiting for its replicas. Holdpoint would then send
	// the answer twice. If StoreMayForget is nil, the store never does this.
	StoreMayForget func() bool
	// Home identifies this process and its backend. It is set if the backend stores its questions
	// in its own memory. Holdpoint then continues only pauses that this process raised. If Home is
	// "", any process may continue them.
	Home string
	// Tools permits a run to continue without the client although its request declared tools.
	Tools bool
}

// maxInputKept is the largest size of a run's input that a record may contain, in bytes.
const maxInputKept = 256 << 10

// continuation returns what the pause of this run needs so that Holdpoint can continue without the
// client. It returns nil if decisions are made only in the chat.
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
	// The operator may have given the headers of user and tenant names that hasCredentials does not
	// know.
	if hasCredentials(t.request.http.Header) || t.principal.HasPrincipal() || t.principal.Tenant != "" {
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

// identityHeaders lists parts of the names of headers that may identify the sender of a request.
// Such headers contain credentials, or a trusted proxy sets them to the sender's identity.
var identityHeaders = [...]string{
	"auth", "cookie", "token", "api-key", "apikey", "secret", "credential", "session", "access-key", "subscription-key",
	"user", "email", "group", "role", "identity", "principal", "subject", "account", "tenant", "-org",
	"jwt", "oidc", "assertion", "signature", "cert",
}

// hasCredentials reports whether a request has a header whose name suggests that it identifies the
// sender. If a header is wrongly counted as such, an answer only waits for the chat. If such a
// header is overlooked, the backend continues the run without an identity.
func hasCredentials(header http.Header) bool {
	for name := range header {
		name = strings.ToLower(name)
		if name == "user-agent" || strings.HasPrefix(name, "sec-") {
			continue // browsers set these headers
		}
		for _, part := range identityHeaders {
			if strings.Contains(name, part) {
				return true
			}
		}
	}
	return false
}

// ChatOnlyReasons returns the reasons why only the chat can continue a pause. It returns nil if
// Holdpoint can continue the pause by itself.
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
		// a later version has shown it in a form that this version does not know
		list = append(list, agui.NoForm)
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

// ownRequest returns a request that Holdpoint itself sends to continue the open pause p. snapshots
// are the snapshots of the pause.
func (h *Handler) ownRequest(req *http.Request, p *agui.Pause, snapshots store.Snapshots) (request, error) {
	body := json.RawMessage(`{}`)
	thread := agui.View(p.Finish).Get("threadId").Str
	if p.Continuation != nil && p.Continuation.Input != nil {
		body = p.Continuation.Input
	} else {
		body = agui.SetString(body, "threadId", thread)
	}
	edits := []agui.Edit{{Key: "runId", Text: h.opts.NewID()}}
	if snapshots.Messages != nil {
		edits = append(edits, agui.Edit{Key: "messages", JSON: snapshots.Messages})
	}
	if snapshots.State != nil {
		edits = append(edits, agui.Edit{Key: "state", JSON: snapshots.State})
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

package agui

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// An Origin describes where a pause comes from, for people who did not see its chat. It never
// influences a run. An empty field means unknown.
type Origin struct {
	Agent  string `json:"agent,omitempty"` // the name that the operator gave the agent
	Tenant string `json:"tenant,omitempty"`
	// Path is the path of the client's request as it was written, without the prefix of a route. The
	// query is not stored, because it may have credentials and a question may wait for weeks.
	Path   string `json:"path,omitempty"`
	Thread string `json:"thread,omitempty"` // the client's thread id
	Run    string `json:"run,omitempty"`    // the client's id of the paused run
	// Requester is the name of the run's principal, and RequesterHash its keyed hash. The
	// operator's setting decides which of them is set. Both are "" if there is no principal, or if
	// principals are not shown.
	Requester     string `json:"requester,omitempty"`
	RequesterHash string `json:"requesterHash,omitempty"`
	// Trace is the context of the paused run's span, as W3C Trace Context writes it. The span of
	// the run that continues links to it. It is "" if there are no spans.
	Trace string `json:"trace,omitempty"`
	// ShownAs is the form in which the client was shown the pause: outcome, both or native. The
	// form both has the outcome and the backend's own announcement.
	ShownAs string `json:"shown,omitempty"`
	// Wire is the protocol of the client. "" means AG-UI, the only protocol so far.
	Wire string `json:"wire,omitempty"`
}

// AskedDigest returns a digest of the exact question i and its origin: "sha256:" and 64 hex digits.
// If the origin is nil, the digest is that of the zero Origin. docs/audit.md has the recipe.
func (o *Origin) AskedDigest(i *Interrupt) string {
	if o == nil {
		o = &Origin{}
	}
	calls := i.AskedCalls()
	if calls == nil {
		calls = json.RawMessage("[]")
	}
	interrupt := i.Object
	if interrupt == nil {
		interrupt = json.RawMessage("null")
	}
	head := MustMarshal(struct {
		Agent  string `json:"agent"`
		Tenant string `json:"tenant"`
		Thread string `json:"thread"`
	}{o.Agent, o.Tenant, o.Thread})
	// The rest is appended without Marshal, because an interrupt can have many megabytes.
	object := make([]byte, 0, len(head)+len(`,"interrupt":,"calls":`)+len(interrupt)+len(calls))
	object = append(object, head[:len(head)-1]...)
	object = AppendCompact(append(object, `,"interrupt":`...), interrupt)
	object = append(append(object, `,"calls":`...), calls...)
	return canonicalDigest(append(object, '}'))
}

// AskedCalls returns the calls that run if the question is approved, as a JSON array of objects
// with name and arguments. It returns nil if they are unknown. Arguments that are not valid JSON,
// or not completely known, become a string.
func (i *Interrupt) AskedCalls() json.RawMessage {
	if len(i.Calls) == 0 {
		return nil
	}
	type call struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	list := make([]call, len(i.Calls))
	for n, c := range i.Calls {
		list[n] = call{c.Name, json.RawMessage(c.Args)}
		if c.ArgumentsUnknown || !ValidJSON([]byte(c.Args)) {
			list[n].Arguments = MustMarshal(c.Args)
		}
	}
	return MustMarshal(list)
}

// AnsweredDigest returns a digest of the exact answer, in the format of AskedDigest.
func (a *Answer) AnsweredDigest() string {
	payload := a.Payload
	if payload == nil {
		payload = json.RawMessage("null")
	}
	object := make([]byte, 0, len(payload)+len(a.Status)+len(`{"status":"","payload":}`))
	object = AppendString(append(object, `{"status":`...), string(a.Status))
	object = append(append(object, `,"payload":`...), payload...)
	return canonicalDigest(append(object, '}'))
}

func canonicalDigest(object []byte) string {
	sum := sha256.Sum256(Canonical(object))
	return "sha256:" + hex.EncodeToString(sum[:])
}

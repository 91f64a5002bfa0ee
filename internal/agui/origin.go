package agui

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// An Origin says where a pause comes from, for whoever is shown it outside of its chat. Nobody
// decides a run by it. Empty fields are not known.
type Origin struct {
	Agent  string `json:"agent,omitempty"` // the name that the operator gave the agent
	Tenant string `json:"tenant,omitempty"`
	// Path is the one of the client's request, as it was written, without the prefix of a route. The
	// query is not kept: it may hold credentials, and a question may wait for weeks.
	Path   string `json:"path,omitempty"`
	Thread string `json:"thread,omitempty"` // the client's id of it
	Run    string `json:"run,omitempty"`    // the client's id of the run that paused
	// Requester is the name of the run's principal, or RequesterHash its keyed hash, as the operator
	// has principals shown. Both are "" without a principal, or if it is to be shown nowhere.
	Requester     string `json:"requester,omitempty"`
	RequesterHash string `json:"requesterHash,omitempty"`
	// Trace is the context of the span of the run that paused, in the form of W3C Trace Context: the
	// run that goes on with it links to that. "" if no spans were made.
	Trace string `json:"trace,omitempty"`
	// Shown is the form in which the client was told of the pause: outcome, both or native.
	Shown string `json:"shown,omitempty"`
	// Wire is the protocol that the client speaks. "" is AG-UI, the only one so far.
	Wire string `json:"wire,omitempty"`
}

// AskedDigest returns a digest of exactly what was asked, and of whom: "sha256:" and 64 hex digits.
// The zero Origin belongs to a pause whose origin is unknown. docs/audit.md has
// the recipe.
func (o *Origin) AskedDigest(i *Interrupt) string {
	if o == nil {
		o = &Origin{}
	}
	calls := i.AskedCalls()
	if calls == nil {
		calls = json.RawMessage("[]")
	}
	return canonicalDigest(MustMarshal(struct {
		Agent     string          `json:"agent"`
		Tenant    string          `json:"tenant"`
		Thread    string          `json:"thread"`
		Interrupt json.RawMessage `json:"interrupt"`
		Calls     json.RawMessage `json:"calls"`
	}{o.Agent, o.Tenant, o.Thread, i.Object, calls}))
}

// AskedCalls returns the calls that a yes lets run, as a JSON array of name and arguments. nil:
// they are not known. Arguments that are not JSON, or not known in full, are a string.
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
		if c.Unknown || !ValidJSON([]byte(c.Args)) {
			list[n].Arguments = MustMarshal(c.Args)
		}
	}
	return MustMarshal(list)
}

// AnsweredDigest returns a digest of exactly what was answered, in the form of AskedDigest.
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

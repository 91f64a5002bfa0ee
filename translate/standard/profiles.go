package standard

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// A profile is what is known of one backend's questions, beyond what they say themselves. All
// backends of this dialect read the same resume array. But some take other values for a yes too,
// and some do not look at a message beside the answers.
type profile struct {
	// A profile is for interrupts with this reason. If the reason is a common one, metadata is a
	// key that the interrupt's metadata must have. prefix is what its id must have before the id of
	// its call. An empty string demands nothing.
	reason, metadata, prefix string

	schema   string    // what is published as responseSchema if the backend gives no schema, or ""
	decision *decision // the only form of a resolved answer that goes out; nil: as it came
	given    bool      // a payload that is absent, null or blank is refused
	// falseIs is what a payload of false means. "" says that it is a payload like others.
	falseIs agui.Status
	// unsaid says that the backend takes every word for cancelled for a yes. So nothing is sent.
	unsaid bool
	// ownID is where in the metadata the interrupt's id stands too. It is set for a backend whose
	// ids a client chose.
	ownID string
	// hidesCall: the call that the question is about is not in the stream.
	hidesCall bool
	beside    travel
}

// A decision is an object with true or false under key. Clients may use the other keys for it, or a
// bare boolean.
type decision struct {
	key     string
	also    []string
	payload bool // a member "payload" of any form may stand beside it
}

// A travel says which messages beside the answers go with them. The others go in an exchange of
// their own.
type travel int

// withResults lets the results of the client's own tools go, because the backend may wait for them
// as well. onlyResults lets them go too, and takes out every other message that the paused run did
// not know. withNone lets nothing go, and withAll everything.
const (
	withResults travel = iota
	onlyResults
	withNone
	withAll
)

// profiles are compared with an interrupt in this order. Each fact was seen on a running backend,
// unless it is marked READ.
var profiles = []profile{
	// Google ADK, ag-ui-adk 0.11.0 with emit_interrupt_outcome: a tool that wants a confirmation.
	// It publishes no schema. It reads {"confirmed":b[,"payload":..]}, b and {"approved":b}, and
	// takes everything else for a yes: "no", {"accepted":false}, a missing payload. Another key
	// beside confirmed fails, and the question is lost (adk_agent.py _resume_entry_content). A
	// cancelled entry goes as {"confirmed":false}. The package looks at the last new message only,
	// so a message behind the answer would hide it.
	{
		reason: "confirmation", metadata: "adk",
		schema:   `{"type":"object","properties":{"confirmed":{"type":"boolean"},"payload":{}},"required":["confirmed"],"additionalProperties":false}`,
		decision: &decision{key: "confirmed", also: []string{"approved"}, payload: true},
		beside:   onlyResults,
	},
	// The same package, a predicted state (PredictStateMapping). It reads a boolean under accepted,
	// approved or confirmed, in this order, and some words. A missing payload, a number and a list
	// are a yes. A cancelled entry goes as {"accepted":false}. The package hands any other text to
	// the model as the person's words, and those are neither yes nor no.
	{
		reason: "confirm_changes", metadata: "predict_state",
		schema:   `{"type":"object","properties":{"accepted":{"type":"boolean"}},"required":["accepted"],"additionalProperties":false}`,
		decision: &decision{key: "accepted", also: []string{"approved", "confirmed"}},
		beside:   onlyResults,
	},
	// CrewAI, ag-ui-crewai 1.0.0. A cancelled entry, and a payload that is null or blank, stand for
	// the question's default, or for its first option if it has no default (_hitl.py
	// feedback_from_resume). The stream does not tell either of them. The flow begins anew with the
	// next run, and asks again.
	{reason: "crewai:human_feedback", given: true, unsaid: true, ownID: "crewai.flowId", beside: withNone},
	// Mastra, @ag-ui/mastra 1.1.2. A resolved entry without a payload starts an ordinary run beside
	// the suspended one, and that run asks once more. false is Mastra's own word for cancelled, and
	// the tool never hears it (mastra.ts run).
	{reason: "mastra:tool_suspend", given: true, falseIs: agui.Cancelled, hidesCall: true, beside: withNone},
	// pydantic-ai 2.0.0 to 2.68.0 keeps nothing, or compares the request with what it keeps. The
	// message is in the turn that goes on with the answer. A second turn would only cost a second
	// call of the model.
	{reason: "tool_call", prefix: "int-", beside: withAll},
}

// profileOf is the profile of an interrupt. If none is known, it is one that demands nothing.
func profileOf(native string, object gjson.Result) profile {
	reason := object.Get("reason").Str
	for _, p := range profiles {
		switch {
		case p.reason != reason:
		case p.metadata != "" && !object.Get("metadata").Get(p.metadata).Exists():
		case p.prefix != "" && (native == p.prefix || native != p.prefix+object.Get("toolCallId").Str):
		default:
			if p.isMinted(native, object) {
				p.unsaid, p.beside = false, withAll
			}
			return p
		}
	}
	var unknown profile
	if unknown.isMinted(native, object) {
		unknown.beside = withAll
	}
	return unknown
}

// isMinted says whether another Holdpoint stands behind this one. That one knows what its backend
// can be told. Its ids are those of the backend with a tilde and a random part behind them.
func (p profile) isMinted(native string, object gjson.Result) bool {
	at := strings.LastIndexByte(native, '~')
	if at < 0 || at == len(native)-1 {
		return false
	}
	if call := object.Get("toolCallId").Str; call != "" && (native == call || strings.HasSuffix(native, "::"+call)) {
		return false // the tilde is a model's, or in Mastra's id the client's, who chose the run's
	}
	return p.ownID == "" || object.Get("metadata").Get(p.ownID).Str == native[:at]
}

func profileOfInterrupt(i *agui.Interrupt) profile { return profileOf(i.Native, agui.View(i.Object)) }

// heard is an answer in the backend's own words, if it can be said in those.
func (p profile) heard(a agui.Answer) agui.Answer {
	if a.Status != agui.Resolved {
		return a
	}
	if p.decision != nil {
		if said, ok := p.decision.read(a.Payload); ok {
			a.Payload = said
		}
	}
	if p.falseIs != "" && string(a.Payload) == "false" {
		a.Status, a.Payload = p.falseIs, nil
	}
	return a
}

// said is an answer as it goes out, or why it must not.
func (p profile) said(a agui.Answer) (agui.Answer, error) {
	switch {
	case a.Status == agui.Cancelled && p.unsaid:
		return a, agui.Errorf(agui.InvalidPayload, "interrupt %q cannot be cancelled: its backend takes that for its first option; give it an answer, or cancel all that is open", a.ID)
	case a.Status == agui.Cancelled:
		return a, nil
	case p.given && blank(a.Payload):
		return a, agui.Errorf(agui.InvalidPayload, "interrupt %q wants a payload: its backend takes none for something else than an answer", a.ID)
	case p.decision != nil:
		said, ok := p.decision.read(a.Payload)
		if !ok {
			return a, agui.Errorf(agui.InvalidPayload, "payload for interrupt %q is no {%q: true or false}, and its backend may take anything else for a yes", a.ID, p.decision.key)
		}
		a.Payload = said
	}
	return a, nil
}

// read returns the decision in the backend's form. It returns false if the payload is no decision,
// or says more than one.
func (d *decision) read(payload json.RawMessage) (json.RawMessage, bool) {
	value := gjson.ParseBytes(payload)
	var yes, beside gjson.Result
	ok := true
	switch {
	case value.IsBool():
		yes = value
	case value.IsObject():
		value.ForEach(func(k, v gjson.Result) bool {
			switch {
			case k.Str == d.key || slices.Contains(d.also, k.Str):
				ok, yes = !yes.Exists() && v.IsBool(), v
			case k.Str == "payload" && d.payload:
				ok, beside = !beside.Exists(), v
			default:
				ok = false
			}
			return ok
		})
	}
	if !ok || !yes.Exists() {
		return nil, false
	}
	out := kit.AppendMember([]byte{'{'}, `"`+d.key+`"`, yes.Raw)
	if beside.Exists() {
		out = kit.AppendMember(out, `"payload"`, beside.Raw)
	}
	return append(out, '}'), true
}

// blank says whether a payload says nothing. A text that Python's strip leaves empty says nothing
// too.
func blank(payload json.RawMessage) bool {
	value := gjson.ParseBytes(payload)
	return !value.Exists() || value.Type == gjson.Null || value.Type == gjson.String && strings.TrimFunc(value.Str, func(c rune) bool {
		return unicode.IsSpace(c) || c >= 0x1c && c <= 0x1f
	}) == ""
}

// behind returns the messages of a resume that do not go with the answers, and which of the new
// ones go in an exchange of their own.
func behind(r *translate.Request) (cut, later []agui.Message) {
	how := withAll
	for n := range r.Pause.Interrupts {
		// The narrowest decides. As far as is known, all questions of a pause are one backend's.
		if beside := profileOfInterrupt(&r.Pause.Interrupts[n]).beside; how == withAll || beside == onlyResults {
			how = beside
		}
	}
	isResult := func(m agui.Message) bool { return m.Role == "tool" }
	switch how {
	case withAll:
		return nil, nil
	case withNone:
		return r.New, r.New
	}
	later = slices.DeleteFunc(slices.Clone(r.New), isResult)
	if how == onlyResults {
		return slices.DeleteFunc(agui.NewMessages(r.Input.Messages, r.Pause.Seen), isResult), later
	}
	return later, later
}

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

// A profile is what is known of one backend's questions that they do not say themselves. All
// backends of this dialect read the same resume array, but some take more for a yes than a yes, and
// not all of them look at a message beside the answers.
type profile struct {
	// An interrupt of the kind has this reason; this key in its metadata, where the reason could be
	// anybody's; and as its id the id of its call behind this prefix. An empty string asks for
	// nothing.
	reason, metadata, prefix string

	schema   string    // the responseSchema that is published where the backend gives none; "" is none
	decision *decision // the only form in which a resolved answer goes out; nil: as it came
	given    bool      // a payload that is absent, null or blank is refused
	// falseIs is what a payload of false says, "" where it is a payload like others.
	falseIs agui.Status
	// unsaid: the backend has no word for cancelled that it does not take for a yes. Nothing is
	// sent then.
	unsaid bool
	// ownID is where in the metadata its id stands too, for a backend whose ids are what a client
	// chose.
	ownID  string
	beside travel
}

// A decision is an object with a yes or a no under key. Clients may use the other words for it, or
// a bare boolean.
type decision struct {
	key     string
	also    []string
	payload bool // a member "payload" of any form may stand beside it
}

// A travel says which of the messages that came beside the answers go with them. The others go in
// an exchange of their own.
type travel int

// withResults: the results of the client's own tools, for which the backend may wait as well.
// onlyResults: these, and of all that the paused run did not know nothing else, be it a person's
// word or not. withNone: none. withAll: all.
const (
	withResults travel = iota
	onlyResults
	withNone
	withAll
)

// profiles are in the order in which an interrupt is held against them. All that is said here was
// seen on running backends, but for what READ is said of.
var profiles = []profile{
	// Google ADK, ag-ui-adk 0.11.0 with emit_interrupt_outcome, a tool that wants a confirmation.
	// It publishes no schema, reads {"confirmed":b[,"payload":..]}, b and {"approved":b}, and takes
	// everything else for a yes: "no", {"accepted":false}, nothing at all. Another key beside
	// confirmed fails, and the question is gone (adk_agent.py _resume_entry_content). cancelled is
	// {"confirmed":false}. It looks at the last new message only: one that stands behind the answer
	// loses it.
	{
		reason: "confirmation", metadata: "adk",
		schema:   `{"type":"object","properties":{"confirmed":{"type":"boolean"},"payload":{}},"required":["confirmed"],"additionalProperties":false}`,
		decision: &decision{key: "confirmed", also: []string{"approved"}, payload: true},
		beside:   onlyResults,
	},
	// The same package, a predicted state (PredictStateMapping). It reads a boolean under accepted,
	// approved or confirmed, in this order, and some words; nothing at all, a number and a list are
	// a yes. cancelled is {"accepted":false}. Any other text it hands to the model as what the
	// person said, which is neither.
	{
		reason: "confirm_changes", metadata: "predict_state",
		schema:   `{"type":"object","properties":{"accepted":{"type":"boolean"}},"required":["accepted"],"additionalProperties":false}`,
		decision: &decision{key: "accepted", also: []string{"approved", "confirmed"}},
		beside:   onlyResults,
	},
	// CrewAI, ag-ui-crewai 1.0.0. It takes cancelled, and a payload that is null or blank, for the
	// default of the question, and if that has none for its first option (_hitl.py
	// feedback_from_resume), which the stream does not tell. The flow begins anew with the next
	// run, and asks again.
	{reason: "crewai:human_feedback", given: true, unsaid: true, ownID: "crewai.flowId", beside: withNone},
	// Mastra, @ag-ui/mastra 1.1.2. resolved without a payload is an ordinary run beside the
	// suspended one, which asks once more. false is Mastra's own word for cancelled, and the tool
	// never hears it (mastra.ts run).
	{reason: "mastra:tool_suspend", given: true, falseIs: agui.Cancelled, beside: withNone},
	// pydantic-ai 2.0.0 to 2.68.0 keeps nothing, or compares the request with what it keeps: the
	// message is in the turn that the answer goes on with, and a second turn would only cost a
	// second call of the model.
	{reason: "tool_call", prefix: "int-", beside: withAll},
}

// profileOf is the profile of an interrupt; one that asks for nothing where none is known.
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

// isMinted says whether another Holdpoint stands behind this one, which knows what its backend can
// be told. Its ids are the backend's and a random part behind a tilde.
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

// read is the decision in the backend's form; false if the payload is none, or says more.
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

// blank says whether a payload says nothing, or is a text of which Python's strip leaves nothing.
func blank(payload json.RawMessage) bool {
	value := gjson.ParseBytes(payload)
	return !value.Exists() || value.Type == gjson.Null || value.Type == gjson.String && strings.TrimFunc(value.Str, func(c rune) bool {
		return unicode.IsSpace(c) || c >= 0x1c && c <= 0x1f
	}) == ""
}

// behind are the messages of a resume that do not go with the answers, and those of the new ones
// that go in an exchange of their own.
func behind(r *translate.Request) (cut, later []agui.Message) {
	how := withAll
	for n := range r.Pause.Interrupts {
		// Where several are asked, the narrowest decides; as far as is known they are all of one
		// backend.
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

package standard

import (
	"encoding/json"
	"slices"
	"strconv"
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
	// name is the backend's, for people. facts is where the facts are from: RAN means a running
	// backend of that version, READ its source only.
	name, facts string
	// A profile is for interrupts with this reason, or with any reason if it is "". If the reason is
	// a common one, metadata is a key that the interrupt's metadata must have, and is is its value.
	// prefix is what its id must have before the id of its call. An empty string demands nothing.
	reason, metadata, is, prefix string

	// message returns the question in words, for a backend that publishes none. nil: the backend's
	// interrupt keeps its own form.
	message  func(interrupt gjson.Result) string
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
	beside    extraTravel
	// anyID: it looks at no id, and takes an answer for whatever waits.
	anyID bool
	// oneByOne: it reads one answer of a request only.
	oneByOne bool
	// ownRuns: it keeps what waits by run id alone. So it is never told a run id that a client chose.
	ownRuns bool
	// together: the calls of several questions must lie in one message behind all others, or only
	// the last answer counts.
	together bool
	// result is where the interrupt names the call whose result the resumed stream always brings if
	// the question was approved, also if the tool failed. "" says that it may bring none.
	result string
	// forgets says that a call that was denied has a result too. A run that succeeds without one is
	// an ordinary run, because the backend does not know the question any more.
	forgets bool
	errors  *complaints // what its RUN_ERRORs say of the answers; nil: nothing is known
	// cancels says that a cancel is a no, even if it comes for a question that was answered.
	cancels bool
	// ends says that a cancel ends the turn that waits, with the outcome cancelled. If nothing
	// waits, the cancel is passed over, and the run is an ordinary one with all messages.
	ends bool
	// readsCalls says that it hands its model the calls of each request's messages.
	readsCalls bool
}

// A decision is an object with a yes or a no under key. Clients may use the other keys for it with
// true or false, or a bare boolean.
type decision struct {
	key     string
	also    []string
	beside  []string // members of any form that may stand beside it
	yes, no string   // JSON under key; "": true and false
}

// An extraTravel says which messages beside the answers go with them. The others go in an exchange
// of their own.
type extraTravel int

// withResults lets the results of the client's own tools go, because the backend may wait for them
// as well. onlyResults lets them go too, and takes out every other message that the paused run did
// not know. withNone lets nothing go, and withAll everything.
const (
	withResults extraTravel = iota
	onlyResults
	withNone
	withAll
)

// asksToCall and asksForChanges return Google ADK's question where the tool gave no hint.
func asksToCall(interrupt gjson.Result) string {
	if name := interrupt.Get("metadata.adk.originalFunctionCall.name").Str; name != "" {
		return "The agent asks to call the tool " + name + "."
	}
	return "The agent asks to call a tool."
}

func asksForChanges(gjson.Result) string { return "Accept the proposed changes?" }

// profiles are compared with an interrupt in this order. Each fact was seen on a running backend,
// unless it is marked READ.
var profiles = []profile{
	// Google ADK, ag-ui-adk 0.11.0 with emit_interrupt_outcome: a tool that wants a confirmation.
	// It publishes no schema. It reads {"confirmed":b[,"payload":..]}, b and {"approved":b}, and
	// takes everything else for a yes: "no", {"accepted":false}, a missing payload. Another key
	// beside confirmed fails, and the question is lost (adk_agent.py _resume_entry_content). A
	// cancelled entry goes as {"confirmed":false}. The package looks at the last new message only,
	// so a message behind the answer would hide it. It also looks at the tool messages of the last
	// message with calls only, and a client holds each call in a message of its own. A call that was
	// approved and ran has a result, in resumable applications too. Without one it did not run.
	{
		name: "Google ADK", facts: "RAN ag-ui-adk 0.11.0",
		reason: "confirmation", metadata: "adk", message: asksToCall,
		schema:   `{"type":"object","properties":{"confirmed":{"type":"boolean"},"payload":{}},"required":["confirmed"],"additionalProperties":false}`,
		decision: &decision{key: "confirmed", also: []string{"approved"}, beside: []string{"payload"}},
		beside:   onlyResults,
		together: true,
		result:   "metadata.adk.originalFunctionCall.id",
		errors:   &ofADK, cancels: true,
	},
	// The same package, a predicted state (PredictStateMapping). It reads a boolean under accepted,
	// approved or confirmed, in this order, and some words. A missing payload, a number and a list
	// are a yes. A cancelled entry goes as {"accepted":false}. The package hands any other text to
	// the model as the person's words, and those are neither yes nor no.
	{
		name: "Google ADK, a predicted state", facts: "RAN ag-ui-adk 0.11.0",
		reason: "confirm_changes", metadata: "predict_state", message: asksForChanges,
		schema:   `{"type":"object","properties":{"accepted":{"type":"boolean"}},"required":["accepted"],"additionalProperties":false}`,
		decision: &decision{key: "accepted", also: []string{"approved", "confirmed"}},
		beside:   onlyResults, errors: &ofADK, cancels: true,
	},
	// CrewAI, ag-ui-crewai 1.0.0, with the outcome and without it; 0.3.0 and 0.3.1 have the same
	// _hitl.py (READ). A cancelled entry, and a payload that is null or blank, stand for
	// the question's default, or for its first option if it has no default (_hitl.py
	// feedback_from_resume). The stream does not tell either of them. The flow begins anew with the
	// next run, and asks again.
	{name: "CrewAI", facts: "RAN ag-ui-crewai 1.0.0, READ 0.3.0", reason: "crewai:human_feedback", given: true, unsaid: true, anyID: true, ownID: "crewai.flowId", beside: withNone, errors: &ofCrewAI},
	// Mastra, @ag-ui/mastra 1.1.2. A resolved entry without a payload starts an ordinary run beside
	// the suspended one, and that run asks again. false is Mastra's own word for cancelled. The
	// tool never hears it, and its run stays suspended (mastra.ts run).
	//
	// It reads the first of several entries only. With one request each, a run that waits for more
	// ends bare, and the last one brings all results, in whatever order they go. A tool that fails
	// has no result in the stream, although it ran.
	//
	// Two threads whose runs have one id have one suspended run (@mastra/core 1.71.0): the answer to
	// the first fails, or with 1.20.0 runs the call of the second. An interrupt's id says which run
	// is to be resumed; the id of the resume does not matter.
	{
		name: "Mastra", facts: "RAN @ag-ui/mastra 1.0.3, 1.1.2",
		reason: reasonSuspended, message: asksToResume, given: true, falseIs: agui.Cancelled, hidesCall: true, beside: withNone, oneByOne: true, ownRuns: true, errors: &ofMastra,
	},
	// Mastra, a tool with requireApproval (calls.go). A cancel goes as a denial.
	{
		name: "Mastra, an approval", facts: "RAN @ag-ui/mastra 1.0.3, 1.1.2",
		reason: reasonApproval, metadata: "mastra",
		decision: &decision{key: "approved", also: []string{"accepted", "confirmed"}},
		beside:   withNone, oneByOne: true, ownRuns: true, errors: &ofMastra,
	},
	// pydantic-ai 2.0.0 to 2.68.0 keeps nothing, or compares the request with what it keeps. The
	// message is in the turn that goes on with the answer. A second turn would only cost a second
	// call of the model. An approved call always has a result: of its tool, of arguments that do not
	// fit it, of a tool that failed.
	{name: "pydantic-ai", facts: "RAN pydantic-ai-slim 2.0.0, 2.68.0", reason: "tool_call", prefix: "int-", beside: withAll, result: "toolCallId", errors: &ofPydanticAI, cancels: true, readsCalls: true},
	// ag-ui-claude-sdk 0.2.3, a tool that the host defers (READ recovery.py, adapter.py). It
	// publishes no schema and takes {"behavior":"allow"} or {"behavior":"deny"} only, with a reason
	// in message and other arguments in updatedInput. Any other payload is a ValueError, and the
	// question stays. A cancelled entry is a denial. It asks about one call at a time. The user
	// messages behind the call go to the model after the call's result.
	{
		name: "Claude Agent SDK", facts: "READ ag-ui-claude-sdk 0.2.3",
		reason: "tool_approval", metadata: "source", is: "claude-sdk-deferred",
		schema: `{"type":"object","properties":{"behavior":{"enum":["allow","deny"]},"message":{"type":"string"},"updatedInput":{"type":"object"}},"required":["behavior"],"additionalProperties":false}`,
		decision: &decision{
			key: "behavior", yes: `"allow"`, no: `"deny"`, also: []string{"approved", "accepted", "confirmed"},
			beside: []string{"message", "updatedInput"},
		},
		beside: withAll, errors: &ofClaude,
	},
	// ag-ui-antigravity 0.2.1, a call that wants an approval (READ ui_bridge.py, agent.py). It
	// publishes a schema, and reads a boolean, some words, and bool() of the member approved or
	// allow: {"approved":"false"} is a yes. A cancelled entry is a denial. It ignores the answer to a
	// question that it does not hold any more, and the run ends as if all was well. A message beside
	// the answers is added to the turn.
	{
		name: "Antigravity", facts: "READ ag-ui-antigravity 0.2.1",
		reason: "tool_approval", metadata: "tool_name",
		decision: &decision{key: "approved", also: []string{"accepted", "confirmed", "allow"}, beside: []string{"message"}},
		beside:   withAll,
	},
	// The same package, a question of the model's. A cancelled entry is one that was not answered.
	{name: "Antigravity, a question", facts: "READ ag-ui-antigravity 0.2.1", reason: "ask_question", metadata: "questions", beside: withAll},
	// AG2 1.2.1. It holds the turn that asked in its process, one question at a time. The turn goes
	// on with the answer and never sees the messages of the request. A cancel ends the turn. An
	// approved call always has a result, also of a tool that failed. An answer to a question that it
	// does not hold any more is passed over, and the run is an ordinary one.
	{name: "AG2", facts: "RAN ag2 1.2.1", reason: "tool_call", metadata: "ag2", errors: &ofAG2, cancels: true, ends: true, result: "toolCallId", forgets: true, readsCalls: true},
	{name: "AG2, a question", facts: "RAN ag2 1.2.1", reason: "input_required", metadata: "ag2", errors: &ofAG2, cancels: true, ends: true, readsCalls: true},
	// TanStack AI. It keeps nothing, and takes the calls that wait from the request's history. A
	// cancelled entry leaves the call with a result which says so. It is the last one: a Holdpoint
	// behind this one writes a binding into other backends' questions too.
	{name: "TanStack AI", facts: "RAN @tanstack/ai 0.58.0", metadata: "tanstack:interruptBinding", errors: &ofTanStack},
}

// profileOf returns the profile of an interrupt. If none is known, it is one that demands nothing.
func profileOf(native string, object gjson.Result) profile {
	reason := object.Get("reason").Str
	for _, p := range profiles {
		switch {
		case p.reason != "" && p.reason != reason:
		case p.metadata != "" && !object.Get("metadata").Get(p.metadata).Exists():
		case p.is != "" && object.Get("metadata").Get(p.metadata).Str != p.is:
		case p.prefix != "" && !isPrefixed(native, p.prefix, object.Get("toolCallId").Str):
		default:
			if p.isMinted(native, object) {
				p.unsaid, p.beside = false, withAll
				p.oneByOne, p.ownRuns, p.together = false, false, false // it does all that itself
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

// isPrefixed reports whether an id is the prefix and the id of the call. A Holdpoint behind this
// one writes a tilde and a random part behind it.
func isPrefixed(native, prefix, call string) bool {
	rest, ok := strings.CutPrefix(native, prefix+call)
	return ok && call != "" && (rest == "" || rest[0] == '~')
}

// isMinted reports whether another Holdpoint stands behind this one. That one knows what its
// backend can be told. Its ids are those of the backend with a tilde and a random part behind them.
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

func profileOfInterrupt(i *agui.Interrupt) profile {
	if question, isLost := lostStateOf(i); isLost {
		return waiters[question.Of].profile
	}
	return profileOf(i.Native, agui.View(i.Object))
}

// heard returns an answer in the backend's own words, if it can be said in those.
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

// outgoingAnswer returns an answer as it goes out, or why it must not.
func (p profile) outgoingAnswer(a agui.Answer) (agui.Answer, error) {
	switch {
	case a.Status == agui.Cancelled && p.unsaid:
		return a, agui.Errorf(agui.InvalidPayload, textNoSingleCancel, a.ID)
	case a.Status == agui.Cancelled:
		return a, nil
	case p.given && blank(a.Payload):
		return a, agui.Errorf(agui.InvalidPayload, textNoPayload, a.ID)
	case p.decision != nil:
		said, ok := p.decision.read(a.Payload)
		if !ok {
			return a, agui.Errorf(agui.InvalidPayload, textNotDecision, a.ID, p.decision.key, p.decision.word(true), p.decision.word(false))
		}
		a.Payload = said
	}
	return a, nil
}

// read returns the decision in the backend's form. It returns false if the payload is not a
// decision, or says more than one.
func (d *decision) read(payload json.RawMessage) (json.RawMessage, bool) {
	value := gjson.ParseBytes(payload)
	said := ""
	beside := map[string]string{}
	ok := true
	say := func(word string) { ok, said = said == "", word }
	switch {
	case value.IsBool():
		say(d.word(value.Bool()))
	case value.IsObject():
		value.ForEach(func(k, v gjson.Result) bool {
			_, twice := beside[k.Str]
			switch {
			case k.Str == d.key && d.yes != "" && (v.Raw == d.yes || v.Raw == d.no):
				say(v.Raw)
			case k.Str == d.key || slices.Contains(d.also, k.Str):
				if ok = v.IsBool(); ok {
					say(d.word(v.Bool()))
				}
			case slices.Contains(d.beside, k.Str) && !twice:
				beside[k.Str] = v.Raw
			default:
				ok = false
			}
			return ok
		})
	}
	if !ok || said == "" {
		return nil, false
	}
	out := kit.AppendMember([]byte{'{'}, `"`+d.key+`"`, said)
	for _, key := range d.beside {
		if raw, there := beside[key]; there {
			out = kit.AppendMember(out, `"`+key+`"`, raw)
		}
	}
	return append(out, '}'), true
}

// word returns the backend's JSON for a yes and a no.
func (d *decision) word(yes bool) string {
	switch {
	case d.yes == "":
		return strconv.FormatBool(yes)
	case yes:
		return d.yes
	}
	return d.no
}

// words returns the plain yes and no of a decision whose schema does not ask for a boolean. nil:
// proxy reads them from the schema.
func (p profile) words() (yes, no json.RawMessage) {
	if p.decision == nil || p.decision.yes == "" {
		return nil, nil
	}
	word := func(w string) json.RawMessage { return json.RawMessage(`{"` + p.decision.key + `":` + w + `}`) }
	return word(p.decision.yes), word(p.decision.no)
}

// blank reports whether a payload says nothing. A text that Python's strip leaves empty says
// nothing too.
func blank(payload json.RawMessage) bool {
	value := gjson.ParseBytes(payload)
	return !value.Exists() || value.Type == gjson.Null || value.Type == gjson.String && strings.TrimFunc(value.Str, func(c rune) bool {
		return unicode.IsSpace(c) || c >= 0x1c && c <= 0x1f
	}) == ""
}

// extraMessages returns the messages of a resume that do not go with the answers, and which of the
// new ones go in an exchange of their own.
func extraMessages(r *translate.Request) (cut, later []agui.Message) {
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

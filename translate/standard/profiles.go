package standard

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// A profile describes the peculiarities of one backend's questions. All backends of this dialect
// read the same resume array. But some also read other values as an approval, and some ignore
// messages that are sent with the answers.
type profile struct {
	// name is the name of the backend for people. facts is the source of the facts: RAN means a
	// running backend of that version, READ only its source.
	name, source string
	// A profile applies to interrupts with this reason, or with any reason if it is "". metadata is a
	// key that the interrupt's metadata must have, with the string value if that is set. prefix is the
	// text that must precede the id of the call in the interrupt's id. An empty string matches
	// everything.
	reason, metadata, value, prefix string

	// message returns the question in words, for a backend that sends none. If it is nil, the
	// interrupt is unchanged.
	message      func(interrupt gjson.Result) string
	schema       string    // the responseSchema if the backend sends none, or ""
	decision     *decision // the only form in which a resolved answer is sent; nil if answers are sent unchanged
	needsPayload bool      // a payload that is absent, null or blank is refused
	// falseIs is the status that a payload of false stands for, or "" if it is an ordinary payload.
	falseIs agui.Status
	// noCancel reports that the backend reads every value for a cancel as an approval. So no cancel is
	// sent.
	noCancel bool
	// ownID is the path in the metadata where the interrupt's id is repeated. It is set for a backend
	// whose ids are chosen by a client.
	ownID string
	// hidesCall reports that the stream does not contain the call that the question is about.
	hidesCall bool
	extra     extraPolicy
	// anyID reports that the backend ignores ids, and uses an answer for whatever waits.
	anyID bool
	// oneByOne reports that the backend reads only one answer of a request.
	oneByOne bool
	// ownRuns reports that the backend stores a paused run by its run id alone. So it never gets a run
	// id that a client chose.
	ownRuns bool
	// callsTogether reports that the calls of several questions must be in one message at the end,
	// because otherwise only the last answer counts.
	callsTogether bool
	// result is the path in the interrupt of the id of a call that always has a result in the resumed
	// stream if it was approved, even if the tool failed. It is "" if the stream may lack the result.
	result string
	// sendsEveryResult reports that the backend sends a result even for a call that was denied. So if
	// the run with the answers succeeds without such a result, the backend no longer had the question,
	// and ran an ordinary run.
	sendsEveryResult bool
	errors           *complaints // the errors about answers; nil if unknown
	// cancels reports that a cancel is a denial, even for a question that was answered before.
	cancels bool
	// ends reports that a cancel ends the waiting turn with the outcome cancelled. If nothing waits,
	// the backend ignores the cancel, and the run is an ordinary one with all messages.
	ends bool
	// readsCalls reports that the backend gives its model the calls of each request's messages.
	readsCalls bool
}

// A decision is an object with a yes or a no under key. Clients may send another key with true or
// false, or a bare boolean.
type decision struct {
	key     string
	aliases []string
	extra   []string // members that any form may also have
	yes, no string   // the JSON values under key; "" for true and false
}

// An extraPolicy selects which other new messages are sent with the answers. The rest is sent in an
// exchange of its own.
type extraPolicy int

// withResults sends the results of the client's own tools, because the backend may wait for them
// too. onlyResults sends them too, and removes every other message that is newer than the pause.
// withNone sends nothing, and withAll everything.
const (
	withResults extraPolicy = iota
	onlyResults
	withNone
	withAll
)

// asksToCall and asksForChanges return the questions of Google ADK if the tool gave no hint.
func asksToCall(interrupt gjson.Result) string {
	if name := interrupt.Get("metadata.adk.originalFunctionCall.name").Str; name != "" {
		return fmt.Sprintf(askCall, name)
	}
	return askAnyCall
}

func asksForChanges(gjson.Result) string { return askChanges }

// profiles are compared with an interrupt in this order. Each fact was observed on a running
// backend, unless it is marked READ.
var profiles = []profile{
	// Google ADK, ag-ui-adk 0.11.0 with emit_interrupt_outcome: a tool that requires a confirmation.
	// It sends no schema. It reads {"confirmed":b[,"payload":..]}, b and {"approved":b}, and reads
	// everything else as an approval: "no", {"accepted":false}, a missing payload. At another key next
	// to confirmed it fails, and the question is lost (adk_agent.py _resume_entry_content). A
	// cancelled entry is sent as {"confirmed":false}. The package reads only the last new message, so
	// a message after the answer would hide the answer. It also reads only the tool messages of the
	// last message with calls, and a client has each call in a message of its own. A call that was
	// approved and ran has a result, in resumable applications too. Without a result it did not run.
	{
		name: "Google ADK", source: "RAN ag-ui-adk 0.11.0",
		reason: "confirmation", metadata: "adk", message: asksToCall,
		schema:        `{"type":"object","properties":{"confirmed":{"type":"boolean"},"payload":{}},"required":["confirmed"],"additionalProperties":false}`,
		decision:      &decision{key: "confirmed", aliases: []string{"approved"}, extra: []string{"payload"}},
		extra:         onlyResults,
		callsTogether: true,
		result:        "metadata.adk.originalFunctionCall.id",
		errors:        &ofADK, cancels: true,
	},
	// The same package, a predicted state (PredictStateMapping). It reads a boolean under accepted,
	// approved or confirmed, in this order, and some words. It reads a missing payload, a number and a
	// list as an approval. A cancelled entry is sent as {"accepted":false}. The package passes any
	// other text to the model as the person's words, which are neither a yes nor a no.
	{
		name: "Google ADK, a predicted state", source: "RAN ag-ui-adk 0.11.0",
		reason: "confirm_changes", metadata: "predict_state", message: asksForChanges,
		schema:   `{"type":"object","properties":{"accepted":{"type":"boolean"}},"required":["accepted"],"additionalProperties":false}`,
		decision: &decision{key: "accepted", aliases: []string{"approved", "confirmed"}},
		extra:    onlyResults, errors: &ofADK, cancels: true,
	},
	// CrewAI, ag-ui-crewai 1.0.0, with and without the outcome; 0.3.0 and 0.3.1 have the same _hitl.py
	// (READ). It reads a cancelled entry, and a payload that is null or blank, as the question's
	// default, or as its first option if it has no default (_hitl.py feedback_from_resume). The stream
	// contains neither of them. The next run restarts the flow, which asks again.
	{name: "CrewAI", source: "RAN ag-ui-crewai 1.0.0, READ 0.3.0", reason: "crewai:human_feedback", needsPayload: true, noCancel: true, anyID: true, ownID: "crewai.flowId", extra: withNone, errors: &ofCrewAI},
	// Mastra, @ag-ui/mastra 1.1.2. A resolved entry without a payload starts an ordinary run in
	// addition to the suspended one, and that run asks again. false is Mastra's own word for
	// cancelled. The tool does not get it, and its run stays suspended (mastra.ts run).
	//
	// It reads only the first of several entries. If each answer has a request of its own, a run that
	// waits for more answers ends without an outcome, and the last run sends all results, in any
	// order. A tool that fails has no result in the stream, although it ran.
	//
	// Two threads whose runs have one id share one suspended run (@mastra/core 1.71.0): the answer to
	// the first thread fails, or with 1.20.0 runs the call of the second. The id of an interrupt names
	// the run that is resumed; the id of the resume itself does not matter.
	{
		name: "Mastra", source: "RAN @ag-ui/mastra 1.0.3, 1.1.2",
		reason: reasonSuspended, message: asksToResume, needsPayload: true, falseIs: agui.Cancelled, hidesCall: true, extra: withNone, oneByOne: true, ownRuns: true, errors: &ofMastra,
	},
	// Mastra, a tool with requireApproval (calls.go). A cancel is sent as a denial.
	{
		name: "Mastra, an approval", source: "RAN @ag-ui/mastra 1.0.3, 1.1.2",
		reason: reasonApproval, metadata: "mastra",
		decision: &decision{key: "approved", aliases: []string{"accepted", "confirmed"}},
		extra:    withNone, oneByOne: true, ownRuns: true, errors: &ofMastra,
	},
	// pydantic-ai 2.0.0 to 2.68.0 keeps nothing, or compares the request with what it keeps. New
	// messages are sent with the answer and are read in the same turn; a second turn would only cost
	// another call of the model. An approved call always has a result: from its tool, for arguments
	// that do not fit the tool, or for a tool that failed.
	{name: "pydantic-ai", source: "RAN pydantic-ai-slim 2.0.0, 2.68.0", reason: "tool_call", prefix: "int-", extra: withAll, result: "toolCallId", errors: &ofPydanticAI, cancels: true, readsCalls: true},
	// ag-ui-claude-sdk 0.2.3, a tool that the host defers (READ recovery.py, adapter.py). It sends no
	// schema and accepts only {"behavior":"allow"} or {"behavior":"deny"}, with a reason in message
	// and new arguments in updatedInput. Any other payload is a ValueError, and the question stays
	// open. A cancelled entry is a denial. It asks about one call at a time. It passes the user
	// messages after the call to the model after the call's result.
	{
		name: "Claude Agent SDK", source: "READ ag-ui-claude-sdk 0.2.3",
		reason: "tool_approval", metadata: "source", value: "claude-sdk-deferred",
		schema: `{"type":"object","properties":{"behavior":{"enum":["allow","deny"]},"message":{"type":"string"},"updatedInput":{"type":"object"}},"required":["behavior"],"additionalProperties":false}`,
		decision: &decision{
			key: "behavior", yes: `"allow"`, no: `"deny"`, aliases: []string{"approved", "accepted", "confirmed"},
			extra: []string{"message", "updatedInput"},
		},
		extra: withAll, errors: &ofClaude,
	},
	// ag-ui-antigravity 0.2.1, a call that requires an approval (READ ui_bridge.py, agent.py). It
	// sends a schema, and reads a boolean, some words, and bool() of the member approved or allow:
	// {"approved":"false"} is an approval. A cancelled entry is a denial. It ignores the answer to a
	// question that it no longer holds, and the run ends well. Messages that are sent with the answers
	// are added to the turn.
	{
		name: "Antigravity", source: "READ ag-ui-antigravity 0.2.1",
		reason: "tool_approval", metadata: "tool_name",
		decision: &decision{key: "approved", aliases: []string{"accepted", "confirmed", "allow"}, extra: []string{"message"}},
		extra:    withAll,
	},
	// The same package, a question of the model. A cancelled entry means that it was not answered.
	{name: "Antigravity, a question", source: "READ ag-ui-antigravity 0.2.1", reason: "ask_question", metadata: "questions", extra: withAll},
	// AG2 1.2.1. It holds the turn that asked in its process, one question at a time. The turn
	// continues with the answer and does not read the messages of the request. A cancel ends the turn.
	// An approved call always has a result, even if the tool failed. It ignores an answer to a
	// question that it no longer holds, and the run is an ordinary one.
	{name: "AG2", source: "RAN ag2 1.2.1", reason: "tool_call", metadata: "ag2", errors: &ofAG2, cancels: true, ends: true, result: "toolCallId", sendsEveryResult: true, readsCalls: true},
	{name: "AG2, a question", source: "RAN ag2 1.2.1", reason: "input_required", metadata: "ag2", errors: &ofAG2, cancels: true, ends: true, readsCalls: true},
	// TanStack AI. It keeps nothing, and takes the waiting calls from the request's history. A
	// cancelled entry gives the call a result that reports the cancel. This profile is the last one,
	// because another Holdpoint behind this one writes the binding into the questions of other
	// backends too.
	{name: "TanStack AI", source: "RAN @tanstack/ai 0.58.0", metadata: "tanstack:interruptBinding", errors: &ofTanStack},
}

// profileOf returns the profile of an interrupt, or an empty profile if none applies.
func profileOf(native string, object gjson.Result) profile {
	reason := object.Get("reason").Str
	for _, p := range profiles {
		switch {
		case p.reason != "" && p.reason != reason:
		case p.metadata != "" && !object.Get("metadata").Get(p.metadata).Exists():
		case p.value != "" && object.Get("metadata").Get(p.metadata).Str != p.value:
		case p.prefix != "" && !isPrefixed(native, p.prefix, object.Get("toolCallId").Str):
		default:
			if p.isMinted(native, object) {
				p.noCancel, p.extra = false, withAll
				p.oneByOne, p.ownRuns, p.callsTogether = false, false, false // the other Holdpoint does this itself
			}
			return p
		}
	}
	var unknown profile
	if unknown.isMinted(native, object) {
		unknown.extra = withAll
	}
	return unknown
}

// isPrefixed reports whether an id consists of the prefix and the id of the call. Another Holdpoint
// behind this one appends a tilde and a random part.
func isPrefixed(native, prefix, call string) bool {
	rest, ok := strings.CutPrefix(native, prefix+call)
	return ok && call != "" && (rest == "" || rest[0] == '~')
}

// isMinted reports whether the id was made by another Holdpoint behind this one, which handles the
// peculiarities of its backend. Its ids are the backend's ids with a tilde and a random part
// appended.
func (p profile) isMinted(native string, object gjson.Result) bool {
	at := strings.LastIndexByte(native, '~')
	if at < 0 || at == len(native)-1 {
		return false
	}
	if call := object.Get("toolCallId").Str; call != "" && (native == call || strings.HasSuffix(native, "::"+call)) {
		return false // the tilde is part of a model's id, or in Mastra's id of a run id that the client chose
	}
	return p.ownID == "" || object.Get("metadata").Get(p.ownID).Str == native[:at]
}

func profileOfInterrupt(i *agui.Interrupt) profile {
	if question, isLost := lostStateOf(i); isLost {
		return blockedBackends[question.Backend].profile
	}
	return profileOf(i.Native, agui.View(i.Object))
}

// normalize returns an answer in the backend's own form, if it can be converted.
func (p profile) normalize(a agui.Answer) agui.Answer {
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

// outgoingAnswer returns an answer as it is sent, or an error if it must not be sent.
func (p profile) outgoingAnswer(a agui.Answer) (agui.Answer, error) {
	switch {
	case a.Status == agui.Cancelled && p.noCancel:
		return a, agui.Errorf(agui.InvalidPayload, textNoSingleCancel, a.ID)
	case a.Status == agui.Cancelled:
		return a, nil
	case p.needsPayload && blank(a.Payload):
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
// decision, or has more than one.
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
			case k.Str == d.key || slices.Contains(d.aliases, k.Str):
				if ok = v.IsBool(); ok {
					say(d.word(v.Bool()))
				}
			case slices.Contains(d.extra, k.Str) && !twice:
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
	for _, key := range d.extra {
		if raw, there := beside[key]; there {
			out = kit.AppendMember(out, `"`+key+`"`, raw)
		}
	}
	return append(out, '}'), true
}

// word returns the backend's JSON value for a yes or a no.
func (d *decision) word(yes bool) string {
	switch {
	case d.yes == "":
		return strconv.FormatBool(yes)
	case yes:
		return d.yes
	}
	return d.no
}

// words returns the plain approval and the plain denial of a decision that is not a boolean. If
// they are nil, proxy reads them from the schema.
func (p profile) words() (yes, no json.RawMessage) {
	if p.decision == nil || p.decision.yes == "" {
		return nil, nil
	}
	word := func(w string) json.RawMessage { return json.RawMessage(`{"` + p.decision.key + `":` + w + `}`) }
	return word(p.decision.yes), word(p.decision.no)
}

// blank reports whether a payload is empty. A text that Python's strip leaves empty is blank too.
func blank(payload json.RawMessage) bool {
	value := gjson.ParseBytes(payload)
	return !value.Exists() || value.Type == gjson.Null || value.Type == gjson.String && strings.TrimFunc(value.Str, func(c rune) bool {
		return unicode.IsSpace(c) || c >= 0x1c && c <= 0x1f
	}) == ""
}

// extraMessages returns the messages of a resume that are not sent with the answers, and which of
// the new messages are sent in an exchange of their own.
func extraMessages(r *translate.Request) (cut, later []agui.Message) {
	how := withAll
	for n := range r.Pause.Interrupts {
		// The profile that sends the fewest messages decides. As far as is known, all questions of a
		// pause belong to one backend.
		if beside := profileOfInterrupt(&r.Pause.Interrupts[n]).extra; how == withAll || beside == onlyResults {
			how = beside
		}
	}
	isResult := func(m agui.Message) bool { return m.Role == "tool" }
	switch how {
	case withAll:
		return nil, nil
	case withNone:
		return r.NewMessages, r.NewMessages
	}
	later = slices.DeleteFunc(slices.Clone(r.NewMessages), isResult)
	if how == onlyResults {
		return slices.DeleteFunc(agui.NewMessages(r.Input.Messages, r.Pause.SeenMessages), isResult), later
	}
	return later, later
}

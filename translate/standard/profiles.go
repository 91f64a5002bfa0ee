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
// messages that are sent together with the answers.
type profile struct {
	// name is the backend's name for people. source is the source of the facts: RAN means that they
	// were seen on a running backend of that version, READ that they were read in its source code.
	name, source string
	// A profile applies to interrupts that match these four fields. An empty field matches every
	// interrupt. reason is the reason of the interrupt. metadata is a key that its metadata must
	// have, and value the string under that key. prefix is the text that must precede the id of the
	// call in the interrupt's id.
	reason, metadata, value, prefix string

	// message returns the text of the question, for a backend that sends no text. If it is nil, the
	// interrupt stays unchanged.
	message func(interrupt gjson.Result) string
	schema  string // the responseSchema for a backend that sends none, or ""
	// decision is the only form in which a resolved answer is sent. If it is nil, answers are sent
	// unchanged.
	decision     *decision
	needsPayload bool // an absent, null or blank payload is refused
	// falseIs is the status that an answer gets if its payload is false. It is "" if false is an
	// ordinary payload.
	falseIs agui.Status
	// noCancel reports that this backend reads every value that could be sent for a cancel as an
	// approval. So Holdpoint sends no cancel.
	noCancel bool
	// ownID is the path in the metadata where the backend repeats the interrupt's id. It is set for
	// a backend whose ids a client can choose.
	ownID string
	// hidesCall reports that the stream does not contain the call that the question is about.
	hidesCall bool
	extra     extraPolicy
	// anyID reports that the backend ignores the ids of answers. An answer then counts for whatever
	// question is open.
	anyID bool
	// oneByOne reports that the backend reads only one answer of each request.
	oneByOne bool
	// ownRuns reports that the backend stores a paused run under its run id alone. So Holdpoint
	// never sends it a run id that a client chose.
	ownRuns bool
	// callsTogether reports that the calls of all questions must be in one message at the end.
	// Otherwise the backend reads only the last answer.
	callsTogether bool
	// result is the path, in the interrupt, to the id of a call. If this call was approved, the
	// resumed stream always has its result, even if the tool failed. result is "" if the stream may
	// lack the result.
	result string
	// sendsEveryResult reports that the backend sends a result even for a denied call. So if the
	// run with the answers succeeds without this result, the backend no longer had the question and
	// ran an ordinary run.
	sendsEveryResult bool
	errors           *complaints // the errors about answers; nil if unknown
	// cancels reports that a cancel always counts as a denial, even if the backend was sent another
	// answer to the question before.
	cancels bool
	// ends reports that a cancel ends the waiting turn with the outcome cancelled. If nothing
	// waits, the backend ignores the cancel, and the run is an ordinary run with all messages.
	ends bool
	// readsCalls reports that the backend gives its model the calls in the messages of each
	// request.
	readsCalls bool
}

// A decision is the form of a payload that says yes or no under one key. Clients may also send true
// or false under another key (aliases), or a bare boolean.
type decision struct {
	key     string
	aliases []string
	extra   []string // further members that the payload may have
	yes, no string   // the JSON values under key; "" for true and false
}

// An extraPolicy selects which new messages are sent together with the answers. The others are sent
// in an exchange of their own.
type extraPolicy int

// withResults sends the results of the client's own tools, because the backend may wait for them
// too. onlyResults sends the same results, and removes from the request every other message that is
// newer than the pause. withNone sends no new message, and withAll sends all.
const (
	withResults extraPolicy = iota
	onlyResults
	withNone
	withAll
)

// asksToCall and asksForChanges return the text of a question of Google ADK, if the tool gave no
// hint.
func asksToCall(interrupt gjson.Result) string {
	if name := interrupt.Get("metadata.adk.originalFunctionCall.name").Str; name != "" {
		return fmt.Sprintf(askCall, name)
	}
	return askAnyCall
}

func asksForChanges(gjson.Result) string { return askChanges }

// profiles has one entry for each kind of question. The first profile that applies to an interrupt
// is used. Each fact was observed on a running backend, unless it is marked READ.
var profiles = []profile{
	// Google ADK, ag-ui-adk 0.11.0 with emit_interrupt_outcome: a tool that requires a
	// confirmation. ag-ui-adk sends no schema. It reads {"confirmed":b[,"payload":..]}, b and
	// {"approved":b}. It reads everything else as an approval: "no", {"accepted":false}, a missing
	// payload. If the payload has another key next to confirmed, it fails, and the question is lost
	// (adk_agent.py _resume_entry_content). It reads a cancelled entry as {"confirmed":false}. It
	// reads only the last new message, so a message after the answer would hide the answer. It also
	// reads only the tool messages that follow the last message with calls, but in a client's
	// history each call is in a message of its own. A call that was approved and ran has a result,
	// in resumable applications too. If it has no result, it did not run.
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
	// Google ADK, the same package: a predicted state (PredictStateMapping). ag-ui-adk reads a
	// boolean under accepted, approved or confirmed, in this order, and some words. It reads a
	// missing payload, a number and a list as an approval. It reads a cancelled entry as
	// {"accepted":false}. It passes any other text to the model as the person's words, which count
	// neither as a yes nor as a no.
	{
		name: "Google ADK, a predicted state", source: "RAN ag-ui-adk 0.11.0",
		reason: "confirm_changes", metadata: "predict_state", message: asksForChanges,
		schema:   `{"type":"object","properties":{"accepted":{"type":"boolean"}},"required":["accepted"],"additionalProperties":false}`,
		decision: &decision{key: "accepted", aliases: []string{"approved", "confirmed"}},
		extra:    onlyResults, errors: &ofADK, cancels: true,
	},
	// CrewAI, ag-ui-crewai 1.0.0, with and without the outcome. 0.3.0 and 0.3.1 have the same
	// _hitl.py (READ). A cancelled entry, or a payload that is null or blank, counts as the
	// question's default. If the question has no default, it counts as its first option (_hitl.py
	// feedback_from_resume). The stream shows neither the default nor the options. The next run
	// restarts the flow, which asks again.
	{name: "CrewAI", source: "RAN ag-ui-crewai 1.0.0, READ 0.3.0", reason: "crewai:human_feedback", needsPayload: true, noCancel: true, anyID: true, ownID: "crewai.flowId", extra: withNone, errors: &ofCrewAI},
	// Mastra, @ag-ui/mastra 1.1.2. If a resolved entry has no payload, Mastra starts an ordinary
	// run in addition to the suspended one, and that run asks again. With the payload false,
	// Mastra's own adapter cancels: the tool does not get the answer, and its run stays suspended
	// (mastra.ts run).
	//
	// Mastra reads only the first of several entries. So each answer needs a request of its own. A
	// run that waits for more answers then ends without an outcome, and the last run sends all
	// results, in any order. A tool that fails has no result in the stream, although it ran.
	//
	// If the runs of two threads have the same id, they share one suspended run (@mastra/core
	// 1.71.0). The answer to the first thread then fails, or with 1.20.0 runs the call of the
	// second thread. The id of an interrupt names the run that is resumed; the run id of the resume
	// itself does not matter.
	{
		name: "Mastra", source: "RAN @ag-ui/mastra 1.0.3, 1.1.2",
		reason: reasonSuspended, message: asksToResume, needsPayload: true, falseIs: agui.Cancelled, hidesCall: true, extra: withNone, oneByOne: true, ownRuns: true, errors: &ofMastra,
	},
	// Mastra, a tool with requireApproval (calls.go). Holdpoint sends a cancel as a denial.
	{
		name: "Mastra, an approval", source: "RAN @ag-ui/mastra 1.0.3, 1.1.2",
		reason: reasonApproval, metadata: "mastra",
		decision: &decision{key: "approved", aliases: []string{"accepted", "confirmed"}},
		extra:    withNone, oneByOne: true, ownRuns: true, errors: &ofMastra,
	},
	// pydantic-ai 2.0.0 to 2.68.0. It either stores nothing, or compares the request with what it
	// stores. It reads new messages in the same turn as the answer; a second turn would only cost
	// another call of the model. An approved call always has a result, even if its arguments do not
	// fit the tool, or the tool failed.
	{name: "pydantic-ai", source: "RAN pydantic-ai-slim 2.0.0, 2.68.0", reason: "tool_call", prefix: "int-", extra: withAll, result: "toolCallId", errors: &ofPydanticAI, cancels: true, readsCalls: true},
	// ag-ui-claude-sdk 0.2.3, a tool that the host defers (READ recovery.py, adapter.py). The
	// package sends no schema. It accepts only {"behavior":"allow"} or {"behavior":"deny"}, with a
	// reason in message and new arguments in updatedInput. At any other payload it raises a
	// ValueError, and the question stays open. A cancelled entry is a denial. The package asks
	// about one call at a time. If user messages follow the call, it sends them to the model after
	// the call's result.
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
	// ag-ui-antigravity 0.2.1, a call that requires an approval (READ ui_bridge.py, agent.py). The
	// package sends a schema. It reads a boolean, some words, and the member approved or allow
	// through Python's bool(), so {"approved":"false"} is an approval. A cancelled entry is a
	// denial. If it no longer holds the question, it ignores the answer, and the run ends without
	// an error. Messages that are sent with the answers are added to the turn.
	{
		name: "Antigravity", source: "READ ag-ui-antigravity 0.2.1",
		reason: "tool_approval", metadata: "tool_name",
		decision: &decision{key: "approved", aliases: []string{"accepted", "confirmed", "allow"}, extra: []string{"message"}},
		extra:    withAll,
	},
	// ag-ui-antigravity, the same package: a question of the model. A cancelled entry means that
	// the question was not answered.
	{name: "Antigravity, a question", source: "READ ag-ui-antigravity 0.2.1", reason: "ask_question", metadata: "questions", extra: withAll},
	// AG2 1.2.1. It holds the turn that asked in its process, and asks one question at a time. The
	// turn continues with the answer and does not read the messages of the request. A cancel ends
	// the turn. An approved call always has a result, even if the tool failed. If AG2 no longer
	// holds the question, it ignores the answer, and the run is an ordinary one.
	{name: "AG2", source: "RAN ag2 1.2.1", reason: "tool_call", metadata: "ag2", errors: &ofAG2, cancels: true, ends: true, result: "toolCallId", sendsEveryResult: true, readsCalls: true},
	{name: "AG2, a question", source: "RAN ag2 1.2.1", reason: "input_required", metadata: "ag2", errors: &ofAG2, cancels: true, ends: true, readsCalls: true},
	// TanStack AI. It stores nothing, and reads the waiting calls from the history in the request.
	// A cancelled entry gives the call a result that reports the cancel. This profile must be the
	// last one. Another Holdpoint between this one and the backend writes tanstack:interruptBinding
	// into the questions of other backends too, whose own profiles must apply.
	{name: "TanStack AI", source: "RAN @tanstack/ai 0.58.0", metadata: "tanstack:interruptBinding", errors: &ofTanStack},
}

// profileOf returns the first profile that applies to an interrupt, or an empty profile if none
// applies. native is the interrupt's id.
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

// isPrefixed reports whether an id consists of prefix and the id of the call. A tilde and a random
// part may follow, because another Holdpoint between this one and the backend appends them.
func isPrefixed(native, prefix, call string) bool {
	rest, ok := strings.CutPrefix(native, prefix+call)
	return ok && call != "" && (rest == "" || rest[0] == '~')
}

// isMinted reports whether another Holdpoint, between this one and the backend, made the id. Its
// ids are the backend's ids with a tilde and a random part appended. That Holdpoint already handles
// the peculiarities of its backend.
func (p profile) isMinted(native string, object gjson.Result) bool {
	at := strings.LastIndexByte(native, '~')
	if at < 0 || at == len(native)-1 {
		return false
	}
	if call := object.Get("toolCallId").Str; call != "" && (native == call || strings.HasSuffix(native, "::"+call)) {
		return false // a model's id has the tilde, or Mastra's id has it from the client's run id
	}
	return p.ownID == "" || object.Get("metadata").Get(p.ownID).Str == native[:at]
}

func profileOfInterrupt(i *agui.Interrupt) profile {
	if question, isLost := lostStateOf(i); isLost {
		return blockedBackends[question.Backend].profile
	}
	return profileOf(i.Native, agui.View(i.Object))
}

// normalize returns an answer in the backend's own form. An answer that cannot be converted stays
// unchanged.
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

// outgoingAnswer returns an answer as Holdpoint sends it to the backend, or an error if it must not
// be sent.
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

// read returns the payload as the backend reads it, {key: yes or no} with the extra members. It
// returns false if the payload has no decision, or more than one.
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

// word returns the backend's JSON value for a yes or for a no.
func (d *decision) word(yes bool) string {
	switch {
	case d.yes == "":
		return strconv.FormatBool(yes)
	case yes:
		return d.yes
	}
	return d.no
}

// words returns the payloads of a plain approval and of a plain denial, if the values of the
// decision are not booleans. If they are nil, proxy reads them from the schema.
func (p profile) words() (yes, no json.RawMessage) {
	if p.decision == nil || p.decision.yes == "" {
		return nil, nil
	}
	word := func(w string) json.RawMessage { return json.RawMessage(`{"` + p.decision.key + `":` + w + `}`) }
	return word(p.decision.yes), word(p.decision.no)
}

// blank reports whether a payload is absent, null, or a text without any character that Python's
// strip() would keep.
func blank(payload json.RawMessage) bool {
	value := gjson.ParseBytes(payload)
	return !value.Exists() || value.Type == gjson.Null || value.Type == gjson.String && strings.TrimFunc(value.Str, func(c rune) bool {
		return unicode.IsSpace(c) || c >= 0x1c && c <= 0x1f
	}) == ""
}

// extraMessages returns two lists of messages of a resume. cut are the messages that are not sent
// with the answers. later are those new messages that are sent in an exchange of their own.
func extraMessages(r *translate.Request) (cut, later []agui.Message) {
	how := withAll
	for n := range r.Pause.Interrupts {
		// The profile that sends the fewest messages decides. In all known cases, the questions of
		// a pause belong to one backend.
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

// Package clients detects from a request which client sent it, and what that client can read. Code
// that sends something to a client asks it.
//
// It affects only what a client is sent. An unknown client is sent everything. The package reads
// only the body, because proxies change headers. Its result is not trusted: a client can imitate
// another one, and is then sent less, or more, than it can read.
//
// The signs and the lists of events were observed with running programs: Agent Framework from
// 2025-12-08 to 2026-07-07, AG-UI's .NET SDK 0.0.3 to after 0.0.5, and @ag-ui/client 1.0.0.
package clients

import (
	"strings"

	"holdpoint/internal/agui"
)

// A Line is a line of client versions that read the same events. A nil Line is an unknown client,
// which is assumed to read everything.
type Line struct {
	name   string
	events map[agui.Type]bool // the events that it reads; nil if it fails at none
	asks   string             // the only server tool whose calls its programs answer; "" if unknown
	// See the methods with these names.
	outcome, snapshots, results, omits, asksFirst, parses, oneCall bool
}

// basic are the events that every .NET client reads. The first versions of the in-tree client read
// no others.
var basic = []agui.Type{
	agui.RunStarted, agui.RunFinished, agui.RunErrored,
	agui.TextStart, agui.TextContent, agui.TextEnd,
	agui.CallStart, agui.CallArgs, agui.CallEnd, agui.CallResult,
	agui.StateSnapshot, agui.StateDelta,
}

var reasoning = []agui.Type{
	agui.ReasoningStart, agui.ReasoningMsgStart, agui.ReasoningContent, agui.ReasoningMsgEnd,
	agui.ReasoningMsgChunk, agui.ReasoningEnd, agui.ReasoningEncrypted,
}

var decorations = []agui.Type{
	agui.StepStarted, agui.StepFinished, agui.MessagesSnapshot,
	agui.ActivitySnapshot, agui.ActivityDelta, agui.Custom, agui.Raw,
}

// These are the known lines.
var (
	// InTree is the AGUIChatClient of Agent Framework before its release 1.14.0, in an unknown
	// version. Versions from 1.5.0 on read reasoning, and earlier ones throw an exception there.
	InTree = &Line{name: "Microsoft.Agents.AI.AGUI", events: set(basic), results: true, parses: true, oneCall: true, asks: "request_approval"}
	// InTreeReasoning is the same client in a version that reads reasoning, because its history has
	// some.
	InTreeReasoning = &Line{name: "Microsoft.Agents.AI.AGUI 1.5.0 or later", events: set(basic, reasoning), results: true, parses: true, oneCall: true, asks: "request_approval"}
	// SDK is the AGUIChatClient of AG-UI's .NET SDK.
	SDK = &Line{name: "AGUI.Client", events: set(basic, reasoning, decorations), outcome: true, results: true, omits: true, asksFirst: true}
	// Official is @ag-ui/client from 1.0.0 on, or another client that declares a version in the same
	// way.
	Official = &Line{name: "@ag-ui/client", outcome: true, snapshots: true}
)

// Lines has all known lines.
var Lines = [...]*Line{InTree, InTreeReasoning, SDK, Official}

func set(lists ...[]agui.Type) map[agui.Type]bool {
	all := map[agui.Type]bool{}
	for _, list := range lists {
		for _, t := range list {
			all[t] = true
		}
	}
	return all
}

// String returns the name of the line for the log and doctor, or "" for an unknown client.
func (l *Line) String() string {
	if l == nil {
		return ""
	}
	return l.name
}

// Reads reports whether the client can read an event of the type. A client throws an exception at
// an event that it does not know, which ends its run.
func (l *Line) Reads(t agui.Type) bool { return l == nil || l.events == nil || l.events[t] }

// ReadsAll reports whether the client can read events of every type.
func (l *Line) ReadsAll() bool { return l == nil || l.events == nil }

// ReadsOutcome reports whether the client is known to read its questions from the outcome of
// RUN_FINISHED and to answer them with resume.
func (l *Line) ReadsOutcome() bool { return l != nil && l.outcome }

// TakesSnapshots reports whether the client may replace its messages by those of a
// MESSAGES_SNAPSHOT. A client that does not may still read such an event, see Reads.
func (l *Line) TakesSnapshots() bool { return l == nil || l.snapshots }

// NeedsResult reports whether a call that was answered must get a TOOL_CALL_RESULT. Without it the
// client would run its own tool of that name at its next message, or send an error text as the
// result.
func (l *Line) NeedsResult() bool { return l != nil && l.results }

// OmitsQuestions reports whether the client leaves the messages that asked out of the request with
// the answer. Its next request contains them again.
func (l *Line) OmitsQuestions() bool { return l != nil && l.omits }

// AsksFirst reports whether the client asks the person about a call that an interrupt names,
// instead of running its own tool of that name.
func (l *Line) AsksFirst() bool { return l != nil && l.asksFirst }

// ParsesResults reports whether the client parses the content of a TOOL_CALL_RESULT as JSON, and
// throws an exception at other text.
func (l *Line) ParsesResults() bool { return l != nil && l.parses }

// TakesOneCall reports whether the client throws an exception at a call that begins while another
// one is open.
func (l *Line) TakesOneCall() bool { return l != nil && l.oneCall }

// TakesNewThreads reports whether the client uses a new thread for each run unless the application
// keeps the thread, as .NET clients do. Such a client may not return to the thread of a question.
func (l *Line) TakesNewThreads() bool { return l != nil && l != Official }

// AnswersCalls reports whether programs that use the client may answer calls of a server's tool
// that asks a person. Of the in-tree client one such program is known, the sample of Agent
// Framework.
func (l *Line) AnswersCalls(tool string) bool { return l == nil || l.asks == "" || l.asks == tool }

// Of returns the line of the client that sent the request, or nil if it is unknown. It requires a
// combination of signs that no other client has. A missing sign does not rule a line out, but a
// sign that the line never has does.
func Of(in *agui.RunInput) *Line {
	switch {
	case in.ProtocolVersion != "":
		return Official // no .NET client declares a version
	case isRunID(in.RunID, 32, isHex) && !in.HasResume && in.ResumeObject == nil:
		return inTree(in)
	case isRunID(in.RunID, 24, isAlphanumeric), answersAsSDK(in):
		return sdk(in)
	}
	return nil
}

// inTree returns the line of an in-tree client, or nil. The caller has checked the runId. The
// client writes null for the missing name or error of a message, and an empty context in each
// request.
func inTree(in *agui.RunInput) *Line {
	root, ok := rootOf(in)
	if !ok || root.context != "[]" || root.tools == "[]" {
		return nil
	}
	nulls, line := false, InTree
	for n := range in.Messages {
		m := &in.Messages[n]
		if m.Role == "reasoning" {
			line = InTreeReasoning
			continue // it has no null
		}
		if m.ID == "" || m.Role == "tool" && m.ID != m.ToolCallID {
			return nil
		}
		nulls = nulls || hasNull(m)
	}
	if !nulls {
		return nil
	}
	return line
}

// sdk returns SDK or nil. The caller has checked the runId or an answer. The SDK's client writes no
// id into a user's message unless the application gives one, and no key without a value. Other
// clients whose runs have ids of OpenAI write ids and all keys.
func sdk(in *agui.RunInput) *Line {
	root, ok := rootOf(in)
	if !ok || root.tools == "[]" {
		return nil
	}
	withoutID := false
	for n := range in.Messages {
		m := &in.Messages[n]
		switch {
		case m.Role == "user" && m.ID == "":
			withoutID = true
		case m.Role == "tool" && m.ID != m.ToolCallID:
			return nil
		}
		if hasNull(m) {
			return nil
		}
	}
	if !withoutID && (root.state || root.context != "" || root.props) {
		return nil
	}
	return SDK
}

// answersAsSDK reports whether the request has an answer in the form of the SDK's client, or a
// result. Both repeat an id. This works even if the application sets the ids of its runs.
func answersAsSDK(in *agui.RunInput) bool {
	result, withoutID := false, false
	for n := range in.Messages {
		m := &in.Messages[n]
		result = result || m.Role == "tool" && m.ID != "" && m.ID == m.ToolCallID
		withoutID = withoutID || m.Role == "user" && m.ID == ""
	}
	if !withoutID {
		return false
	}
	for n := range in.Resume {
		call := agui.View(in.Resume[n].Payload).Get("toolCall")
		result = result || call.Get("callId").Str != "" && call.Get("name").Str != "" && call.Get("arguments").Exists()
	}
	return result
}

// A root has the members of a request that distinguish clients.
type root struct {
	context, tools string // JSON text, or "" if absent
	state, props   bool   // whether the member is present, even if it is null
}

// rootOf reads the members. It returns false if the request has a key or a null that no .NET client
// writes.
func rootOf(in *agui.RunInput) (r root, ok bool) {
	m := agui.CheckedMembers(in.Raw)
	for m.Next() {
		switch m.Name() {
		case "context":
			r.context = m.Value
		case "tools":
			r.tools = m.Value
		case "state":
			r.state = true
		case "forwardedProps":
			r.props = true
		case "threadId", "runId", "parentRunId", "messages", "resume":
		default:
			return r, false
		}
		if m.Value == "null" {
			return r, false
		}
	}
	return r, true
}

// hasNull reports whether a message has a member that is null.
func hasNull(m *agui.Message) bool {
	list := agui.CheckedMembers(m.JSON)
	for list.Next() {
		if list.Value == "null" {
			return true
		}
	}
	return false
}

func isRunID(id string, length int, is func(c byte) bool) bool {
	rest, ok := strings.CutPrefix(id, "run_")
	if !ok || len(rest) != length {
		return false
	}
	for n := range len(rest) {
		if !is(rest[n]) {
			return false
		}
	}
	return true
}

func isHex(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' }

func isAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// Package clients recognizes from a request which client sent it, and knows what that client can
// read. Code that sends something to a client consults this package.
//
// The result only affects what is sent to the client. An unknown client is sent everything. The
// package reads only the body of a request, because proxies change headers. Its result is not
// trusted: a client can imitate another one, but then it only gets less, or more, than it can read.
//
// The signs and the lists of events were observed with running programs: Agent Framework from
// 2025-12-08 to 2026-07-07, AG-UI's .NET SDK 0.0.3 to after 0.0.5, and @ag-ui/client 1.0.0.
package clients

import (
	"strings"

	"holdpoint/internal/agui"
)

// A Line is a series of versions of a client that read the same events. A nil Line means an unknown
// client, which is assumed to read everything.
type Line struct {
	name string
	// the types of events that the client reads; nil if it reads all types
	events map[agui.Type]bool
	// the only tool of a server whose calls the client's programs answer; "" if unknown
	asks string
	// The methods ReadsOutcome, TakesSnapshots, NeedsResult, OmitsQuestions, AsksFirst,
	// ParsesResults and TakesOneCall describe these fields.
	outcome, snapshots, results, omits, asksFirst, parses, oneCall bool
}

// basic has the types of events that every .NET client reads. The first versions of the in-tree
// client (the one in the repository of Agent Framework) read only these.
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

// The known lines of client versions.
var (
	// InTree is the AGUIChatClient of Agent Framework before its release 1.14.0, in an unknown
	// version. From version 1.5.0 on it reads reasoning events. Earlier versions throw an exception
	// at such an event.
	InTree = &Line{name: "Microsoft.Agents.AI.AGUI", events: set(basic), results: true, parses: true, oneCall: true, asks: "request_approval"}
	// InTreeReasoning is the same client in a version that reads reasoning events: the history that
	// it sends contains reasoning.
	InTreeReasoning = &Line{name: "Microsoft.Agents.AI.AGUI 1.5.0 or later", events: set(basic, reasoning), results: true, parses: true, oneCall: true, asks: "request_approval"}
	// SDK is the AGUIChatClient of AG-UI's .NET SDK.
	SDK = &Line{name: "AGUI.Client", events: set(basic, reasoning, decorations), outcome: true, results: true, omits: true, asksFirst: true}
	// Official is @ag-ui/client from 1.0.0 on, or another client that declares a protocol version
	// in the same way.
	Official = &Line{name: "@ag-ui/client", outcome: true, snapshots: true}
)

// Lines has all known lines of client versions.
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

// Reads reports whether the client can read events of the type t. At an event that it does not
// know, a client throws an exception, which ends its run.
func (l *Line) Reads(t agui.Type) bool { return l == nil || l.events == nil || l.events[t] }

// ReadsAll reports whether the client can read all types of events.
func (l *Line) ReadsAll() bool { return l == nil || l.events == nil }

// ReadsOutcome reports whether the client is known to read its questions from the outcome of
// RUN_FINISHED, and to answer them with resume.
func (l *Line) ReadsOutcome() bool { return l != nil && l.outcome }

// TakesSnapshots reports whether the client may replace its messages by the messages of a
// MESSAGES_SNAPSHOT. A client that does not replace its messages may still read such an event, see
// the method Reads.
func (l *Line) TakesSnapshots() bool { return l == nil || l.snapshots }

// NeedsResult reports whether the client must get a TOOL_CALL_RESULT for each call that was
// answered. Without that event, at its next message the client would run its own tool of that name,
// or send an error text as the result.
func (l *Line) NeedsResult() bool { return l != nil && l.results }

// OmitsQuestions reports whether the client leaves out messages of the history when it sends an
// answer: the messages that asked the question. Its next request contains them again.
func (l *Line) OmitsQuestions() bool { return l != nil && l.omits }

// AsksFirst reports whether the client asks the person about a call that an interrupt names. A
// client that does not ask may run its own tool of that name instead.
func (l *Line) AsksFirst() bool { return l != nil && l.asksFirst }

// ParsesResults reports whether the client parses the content of a TOOL_CALL_RESULT as JSON, and
// throws an exception at other text.
func (l *Line) ParsesResults() bool { return l != nil && l.parses }

// TakesOneCall reports whether the client can handle only one open call: it throws an exception at
// a call that begins while another call is open.
func (l *Line) TakesOneCall() bool { return l != nil && l.oneCall }

// TakesNewThreads reports whether the client uses a new thread for each run unless the application
// keeps the thread, as .NET clients do. Such a client may answer a question on another thread.
func (l *Line) TakesNewThreads() bool { return l != nil && l != Official }

// AnswersCalls reports whether a program that uses the client may answer calls of the server's tool
// with this name, which asks a person. For the in-tree client only one such program is known, the
// sample of Agent Framework.
func (l *Line) AnswersCalls(tool string) bool { return l == nil || l.asks == "" || l.asks == tool }

// Of returns the line of the client that sent the request, or nil if the client is unknown. It
// requires a combination of signs that no other client has. If a sign is missing, the client may
// still belong to the line. If the request has a sign that the line never has, the client does not
// belong to the line.
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

// inTree returns the line of an in-tree client, or nil if the request is not from one. The caller
// has checked the runId. An in-tree client writes null for a missing name or error of a message,
// and an empty context in each request.
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
			continue // a reasoning message has no null
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

// sdk returns SDK if the SDK's client sent the request, or nil. The caller has checked the runId or
// an answer. This client writes an id into a user's message only if the application sets one, and
// leaves out every key without a value. Other clients whose run ids have OpenAI's format write ids
// and all keys.
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

// answersAsSDK reports whether the request has an answer as the SDK's client writes it, or a
// result. Both of them repeat the id of a call. So this client is recognized even if the
// application sets the ids of its runs.
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

// A root has those members of a request that distinguish clients from each other.
type root struct {
	context, tools string // JSON text, or "" if the member is absent
	state, props   bool   // whether the member is present, even if it is null
}

// rootOf reads the members of a root from the request. It returns false if the request has a key,
// or a null, that .NET clients never write.
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

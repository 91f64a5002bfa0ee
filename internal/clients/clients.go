// Package clients concludes from a request which client sent it, and what that client can read. One
// table holds what is known of each line of clients. Whoever tells a client something asks the
// table.
//
// It decides nothing about a request, and a client that it does not know gets what it got before.
// It reads the body only: proxies change headers. It does not trust what it concludes: a client may
// write any sign, and then reads less, or more, than it can.
//
// The signs and the lists of events are those of running programs: Agent Framework from 2025-12-08
// to 2026-07-07, AG-UI's .NET SDK 0.0.3 to after 0.0.5, and @ag-ui/client 1.0.0.
package clients

import (
	"strings"

	"holdpoint/internal/agui"
)

// A Line is a line of clients that read alike. A nil Line is that of an unknown client. It reads
// everything, as far as anybody knows.
type Line struct {
	name   string
	events map[agui.Type]bool // the events that it knows; nil: it fails at none that is known here
	asks   string             // the only tool whose calls its programs answer for a server; "": nobody knows
	// See the methods of these names.
	outcome, snapshots, results, omits, asksFirst, parses, oneCall bool
}

// The events that each client of .NET knows. The first versions of the in-tree client know no
// others.
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

// The lines that are known.
var (
	// InTree is the AGUIChatClient of Agent Framework before its release 1.14.0, of an unknown
	// version: from 1.5.0 on it knows reasoning, before it throws there.
	InTree = &Line{name: "Microsoft.Agents.AI.AGUI", events: set(basic), results: true, parses: true, oneCall: true, asks: "request_approval"}
	// InTreeReasoning is the same client in a version that is known to read reasoning: its history
	// has some.
	InTreeReasoning = &Line{name: "Microsoft.Agents.AI.AGUI 1.5.0 or later", events: set(basic, reasoning), results: true, parses: true, oneCall: true, asks: "request_approval"}
	// SDK is the AGUIChatClient of AG-UI's .NET SDK.
	SDK = &Line{name: "AGUI.Client", events: set(basic, reasoning, decorations), outcome: true, results: true, omits: true, asksFirst: true}
	// Official is @ag-ui/client from 1.0.0 on, or whoever declares a version as it does.
	Official = &Line{name: "@ag-ui/client", outcome: true, snapshots: true}
)

// Lines are all lines that are known.
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

// String returns the name of the line, as the log and doctor have it, and "" for an unknown client.
func (l *Line) String() string {
	if l == nil {
		return ""
	}
	return l.name
}

// Reads reports whether the client reads on after an event of the type. A client that does not know
// an event throws at it, and its run is over.
func (l *Line) Reads(t agui.Type) bool { return l == nil || l.events == nil || l.events[t] }

// ReadsAll reports whether Reads is true of every type.
func (l *Line) ReadsAll() bool { return l == nil || l.events == nil }

// ReadsOutcome reports whether the client is known to find its questions in the outcome of
// RUN_FINISHED, and to answer them by resume.
func (l *Line) ReadsOutcome() bool { return l != nil && l.outcome }

// TakesSnapshots reports whether the client may take messages from a MESSAGES_SNAPSHOT. One that
// does not may still read on after it, see Reads.
func (l *Line) TakesSnapshots() bool { return l == nil || l.snapshots }

// NeedsResult reports whether a call that was answered must get a TOOL_CALL_RESULT. Without one the
// client would carry out a tool of its own of that name at its next message, or send an error text
// as the result.
func (l *Line) NeedsResult() bool { return l != nil && l.results }

// OmitsQuestions reports whether the client answers without the messages that asked: its request
// lacks them, with all that stands in them, and its next message has the rest of them again.
func (l *Line) OmitsQuestions() bool { return l != nil && l.omits }

// AsksFirst reports whether the client makes a question of a call that an interrupt names, and does
// not carry that call out, even if it has a tool of that name.
func (l *Line) AsksFirst() bool { return l != nil && l.asksFirst }

// ParsesResults reports whether the client reads the content of a TOOL_CALL_RESULT as JSON, and
// throws at other text.
func (l *Line) ParsesResults() bool { return l != nil && l.parses }

// TakesOneCall reports whether the client throws at a call that begins while another one is open.
func (l *Line) TakesOneCall() bool { return l != nil && l.oneCall }

// TakesNewThreads reports whether the client takes a new thread for each run unless the application
// keeps it, as .NET's do. So it may not come back to the thread of a question.
func (l *Line) TakesNewThreads() bool { return l != nil && l != Official }

// AnswersCalls reports whether programs around the client are known to answer calls of a server's
// tool that asks a person, or may do so. The in-tree client has one such program, Agent Framework's
// sample.
func (l *Line) AnswersCalls(tool string) bool { return l == nil || l.asks == "" || l.asks == tool }

// Of returns the line of the client that sent the request, nil for an unknown one. It needs signs
// that no other client is known to give together. A missing sign proves nothing, and any sign that
// the line never gives rules the line out.
func Of(in *agui.RunInput) *Line {
	switch {
	case in.ProtocolVersion != "":
		return Official // no client of .NET declares one
	case isRunID(in.RunID, 32, isHex) && !in.HasResume && in.ResumeObject == nil:
		return inTree(in)
	case isRunID(in.RunID, 24, isAlphanumeric), answersAsSDK(in):
		return sdk(in)
	}
	return nil
}

// inTree tells the in-tree client, whose runId the request has. It writes null where a message has
// no name or error, and an empty context in each request.
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

// sdk tells the SDK's client, if the request has its runId, or an answer in its form. It writes no
// id into a message of the user unless the application gives one. It writes no key without a value.
// Clients that give OpenAI's ids to their runs write ids and all keys.
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
// result: both repeat an id. The application may set the ids of its runs.
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

// A root is what of a request's own keys tells clients apart.
type root struct {
	context, tools string // JSON text, "" if absent
	state, props   bool   // present, null included
}

// rootOf reads them. It returns false if a key is there that no client of .NET writes so.
func rootOf(in *agui.RunInput) (r root, ok bool) {
	m := agui.MembersOf(in.Raw)
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
	list := agui.MembersOf(m.JSON)
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

// Package client makes what one client of AG-UI reads: the first and the last event of its run, its
// questions, snapshots, results, and the calls that it lacks. It gets values: the client's request,
// a pause, a result, and an interface to the transcript of the stream. It asks no store and no
// clock, writes no log, keeps nothing of a run beside what a stream needs, and does not decide what
// happens to a run.
//
// It follows AG-UI 1.0, and what @ag-ui/client 0.0.59 and 1.0.0, AG-UI's .NET SDK, Agent
// Framework's client in .NET and TanStack AI's client do with events.
package client

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/clients"
	"holdpoint/internal/tanstack"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// A Listener is the client of one run, with what decides how the run is told to it. It is made once
// for a run and is read-only.
type Listener struct {
	// Line is the line of the client in the table, nil if it is unknown.
	Line *clients.Line
	// Show is the form that the client is shown questions in.
	Show translate.Show
	// Thread is the thread's id as the client knows it. The id in In may be another one.
	Thread string
	// In is the request as the dialect gets it, with the backend's id of the thread. ClientMessages
	// has the messages as the client sent them.
	In             *agui.RunInput
	ClientMessages []agui.Message
	// Page reports that a page in a browser reads the stream itself.
	Page bool
	// Later reports that the run follows another one in the same stream, so its ids are the
	// backend's.
	Later bool
}

// A Transcript tells what the stream has shown so far.
type Transcript interface {
	// Messages returns the messages. whole is false if they are not all known.
	Messages() (list []json.RawMessage, whole bool)
	// Holds reports whether a message has the id.
	Holds(messageID string) bool
	// HasCalls reports whether the message of the id has calls.
	HasCalls(messageID string) bool
	// Calls returns the calls without their arguments.
	Calls() []agui.Call
	// AskedCall returns a call with its arguments.
	AskedCall(callID string) (agui.AskedCall, bool)
}

// ShowFor returns the form in which a client is shown questions, if the operator names none.
// byArray reports that an earlier request of its thread answered by a resume array.
func ShowFor(line *clients.Line, in *agui.RunInput, byArray bool) translate.Show {
	switch {
	case !line.Reads(agui.Custom):
		return translate.ShowNative // both other forms are made of events at which it throws
	case in.ProtocolVersion != "", in.HasResume, byArray:
		return translate.ShowOutcome
	}
	return translate.ShowBoth
}

// showsNativeForm reports whether the client is shown the backend's own form, and nothing that is
// made here.
func (l Listener) showsNativeForm() bool { return l.Show == translate.ShowNative }

// BringsConversation reports whether the request has a message of the conversation that a pause
// ended. A client that sends its new messages only brings none.
func (l Listener) BringsConversation(p *agui.Pause) bool {
	return slices.ContainsFunc(l.ClientMessages, func(m agui.Message) bool { return p.Knows(agui.See(m)) })
}

// TakesErrorAfterQuestions reports whether a late RUN_ERROR may follow a RUN_FINISHED that asks
// again. asks is false if the stream has no question. assistant-ui takes its card away at such a
// RUN_ERROR and keeps its list (react-ag-ui 0.0.57), and AGUI.Client 0.0.3 throws, so that its
// application gets no question. To these clients the reason in the questions is enough.
func (l Listener) TakesErrorAfterQuestions(asks bool) bool {
	return !l.Page && !tanstack.Sent(l.In.Raw) && !(l.Line.OmitsQuestions() && asks)
}

// callsIn returns the ids of the calls in a list of messages.
func callsIn(list []agui.Message) map[string]bool {
	ids := map[string]bool{}
	for n := range list {
		addCalls(ids, &list[n])
	}
	return ids
}

// addCalls adds the ids of the calls of a message.
func addCalls(ids map[string]bool, m *agui.Message) {
	for _, c := range gjson.GetBytes(m.JSON, "toolCalls").Array() {
		ids[c.Get("id").Str] = true
	}
}

// mayCall reports whether calls in a message are an assistant's.
func mayCall(m *agui.Message) bool { return !m.Plain && m.Role == "assistant" }

// namedCall returns the call that a question names. ok is false if the question names none, or if
// the call is not known whole.
func namedCall(i *agui.Interrupt) (call agui.AskedCall, ok bool) {
	id := i.ToolCallID()
	at := slices.IndexFunc(i.Calls, func(c agui.AskedCall) bool { return c.ID == id && c.Name != "" && !c.Unknown })
	if id == "" || at < 0 {
		return agui.AskedCall{}, false
	}
	return i.Calls[at], true
}

// callEvents returns the events of a call.
func callEvents(c agui.Call) []agui.Event {
	frames := kit.CallFrames(c)
	events := make([]agui.Event, len(frames))
	for n, frame := range frames {
		events[n] = agui.NewEvent(frame)
	}
	return events
}

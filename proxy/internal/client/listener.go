// Package client makes the events that one client of AG-UI needs: the first and the last event of
// its run, its questions, snapshots, results, and the calls that it lacks. The input of the package
// consists of values (the client's request, a pause, a result) and of an interface to the
// transcript of the stream. The package uses neither the store nor a clock, writes no log, and does
// not decide what happens to a run. It has only the state that a stream needs.
//
// It follows AG-UI 1.0, and the behavior of @ag-ui/client 0.0.59 and 1.0.0, AG-UI's .NET SDK, Agent
// Framework's client in .NET and TanStack AI's client.
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

// A Listener is the client of one run. It contains the facts that decide in which form the client
// gets events. It is made once for each run and does not change.
type Listener struct {
	// Line is the entry of the client library in the table of the package clients, or nil if the
	// library is unknown.
	Line *clients.Line
	// Show is the form in which the client gets questions.
	Show translate.Show
	// Thread is the thread id that the client sent. The thread id in In may differ from it.
	Thread string
	// In is the request as the dialect gets it, with the thread id of the backend. ClientMessages
	// are the messages as the client sent them.
	In             *agui.RunInput
	ClientMessages []agui.Message
	// Page is true if a page in a browser itself reads the stream.
	Page bool
	// FollowsRun is true if the run follows another run in the same stream. Then its events have
	// the run ids of the backend.
	FollowsRun bool
}

// A Transcript contains the messages and calls that the stream has had so far.
type Transcript interface {
	// Messages returns the messages. whole is false if some are missing.
	Messages() (list []json.RawMessage, whole bool)
	// HasMessage reports whether there is a message with that id.
	HasMessage(messageID string) bool
	// HasCalls reports whether the message with that id contains calls.
	HasCalls(messageID string) bool
	// Calls returns all calls, without their arguments.
	Calls() []agui.Call
	// AskedCall returns the call with that id, with its arguments. It returns false if there is
	// none.
	AskedCall(callID string) (agui.AskedCall, bool)
}

// ShowFor returns the form in which the client gets questions, if the operator has not chosen one.
// line is the client's library. byArray is true if an earlier request of the thread had a resume
// array.
func ShowFor(line *clients.Line, in *agui.RunInput, byArray bool) translate.Show {
	switch {
	case !line.Reads(agui.Custom):
		return translate.ShowNative // the client would throw at the events of both other forms
	case in.ProtocolVersion != "", in.HasResume, byArray:
		return translate.ShowOutcome
	}
	return translate.ShowBoth
}

// showsNativeForm reports whether the client gets questions in the backend's own form, with no
// addition by Holdpoint.
func (l Listener) showsNativeForm() bool { return l.Show == translate.ShowNative }

// BringsConversation reports whether the request contains a message of the conversation in which
// the pause was raised. If a client sends only new messages, its request contains no such message.
func (l Listener) BringsConversation(p *agui.Pause) bool {
	return slices.ContainsFunc(l.ClientMessages, func(m agui.Message) bool { return p.HasMessage(agui.NewSeenMessage(m)) })
}

// TakesErrorAfterQuestions reports whether the client accepts a RUN_ERROR after a RUN_FINISHED with
// questions that are asked again. asks is false if the stream contains no question. At such a
// RUN_ERROR assistant-ui removes its card but not its list of questions (react-ag-ui 0.0.57).
// AGUI.Client 0.0.3 throws, so that its application gets no question. These clients get no
// RUN_ERROR; they find the reason in the questions.
func (l Listener) TakesErrorAfterQuestions(asks bool) bool {
	return !l.Page && !tanstack.IsClientBody(l.In.Raw) && !(l.Line.OmitsQuestions() && asks)
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
		ids[agui.IDText(c.Get("id"))] = true
	}
}

// mayCall reports whether calls in the message count. They count only in a message of the
// assistant.
func mayCall(m *agui.Message) bool { return !m.Plain && m.Role == "assistant" }

// namedCall returns the call that a question names. ok is false if the question names no call, or
// if the call is not completely known.
func namedCall(i *agui.Interrupt) (call agui.AskedCall, ok bool) {
	id := i.ToolCallID()
	at := slices.IndexFunc(i.Calls, func(c agui.AskedCall) bool { return c.ID == id && c.Name != "" && !c.ArgumentsUnknown })
	if id == "" || at < 0 {
		return agui.AskedCall{}, false
	}
	return i.Calls[at], true
}

// callEvents returns the events that send a whole call.
func callEvents(c agui.Call) []agui.Event {
	frames := kit.CallFrames(c)
	events := make([]agui.Event, len(frames))
	for n, frame := range frames {
		events[n] = agui.NewEvent(frame)
	}
	return events
}

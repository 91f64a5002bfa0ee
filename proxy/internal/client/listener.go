// Package client makes the events that one client of AG-UI needs: the first and the last event of
// its run, its questions, snapshots, results, and the calls that it lacks. Its input is values (the
// client's request, a pause, a result) and an interface to the transcript of the stream. It uses
// neither the store nor a clock, writes no log, keeps only the state that a stream needs, and does
// not decide what happens to a run.
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

// A Listener is the client of one run, with the facts that decide in which form it gets the events.
// It is made once for a run and is read-only.
type Listener struct {
	// Line is the entry of the client library in the table of package clients, nil if it is
	// unknown.
	Line *clients.Line
	// Show is the form in which the client gets questions.
	Show translate.Show
	// Thread is the thread id that the client sent. In may have another one.
	Thread string
	// In is the request as the dialect gets it, with the backend's thread id. ClientMessages are
	// the messages as the client sent them.
	In             *agui.RunInput
	ClientMessages []agui.Message
	// Page reports that a page in a browser reads the stream itself.
	Page bool
	// FollowsRun reports that the run follows another one in the same stream, so that it has the ids
	// of the backend.
	FollowsRun bool
}

// A Transcript has the messages and calls of the stream so far.
type Transcript interface {
	// Messages returns the messages. whole is false if some are missing.
	Messages() (list []json.RawMessage, whole bool)
	// HasMessage reports whether there is a message with the id.
	HasMessage(messageID string) bool
	// HasCalls reports whether the message with the id has calls.
	HasCalls(messageID string) bool
	// Calls returns the calls without their arguments.
	Calls() []agui.Call
	// AskedCall returns a call with its arguments.
	AskedCall(callID string) (agui.AskedCall, bool)
}

// ShowFor returns the form in which the client gets questions, if the operator has not chosen one.
// byArray reports that an earlier request of the thread answered with a resume array.
func ShowFor(line *clients.Line, in *agui.RunInput, byArray bool) translate.Show {
	switch {
	case !line.Reads(agui.Custom):
		return translate.ShowNative // the client throws at the events of both other forms
	case in.ProtocolVersion != "", in.HasResume, byArray:
		return translate.ShowOutcome
	}
	return translate.ShowBoth
}

// showsNativeForm reports whether the client gets questions in the backend's own form, without any
// addition of Holdpoint.
func (l Listener) showsNativeForm() bool { return l.Show == translate.ShowNative }

// BringsConversation reports whether the request has a message of the conversation that the pause
// ended. The request of a client that sends only new messages has none.
func (l Listener) BringsConversation(p *agui.Pause) bool {
	return slices.ContainsFunc(l.ClientMessages, func(m agui.Message) bool { return p.HasMessage(agui.NewSeenMessage(m)) })
}

// TakesErrorAfterQuestions reports whether the client accepts a RUN_ERROR after a RUN_FINISHED that
// asks again. asks is false if the stream has no question. At such a RUN_ERROR assistant-ui removes
// its card and keeps its list (react-ag-ui 0.0.57), and AGUI.Client 0.0.3 throws, so that its
// application gets no question. These clients find the reason in the questions.
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

// namedCall returns the call that a question names. ok is false if it names none, or if the call is
// not known completely.
func namedCall(i *agui.Interrupt) (call agui.AskedCall, ok bool) {
	id := i.ToolCallID()
	at := slices.IndexFunc(i.Calls, func(c agui.AskedCall) bool { return c.ID == id && c.Name != "" && !c.ArgumentsUnknown })
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

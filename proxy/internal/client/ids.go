package client

import (
	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// protocolVersion is what Holdpoint declares where the backend declares nothing.
const protocolVersion = "1.0"

// Start returns a RUN_STARTED with the request's ids.
func (l Listener) Start() agui.Event {
	version := ""
	if l.In.ProtocolVersion != "" {
		version = protocolVersion
	}
	return agui.StartedEvent(l.Thread, l.In.RunID, version)
}

// Finish returns a RUN_FINISHED with the request's ids and without an outcome.
func (l Listener) Finish() agui.Event { return agui.FinishedEvent(l.Thread, l.In.RunID) }

// WithIDs returns a run's first or last event with the request's ids, and any other event as it is.
// Backends invent runIds: LangGraph's TypeScript adapter ends every run with the server's own. In a
// RUN_ERROR the thread is the client's, if the event names one.
func (l Listener) WithIDs(ev agui.Event) agui.Event {
	var few [3]agui.Edit
	if edits := l.appendIDs(few[:0], ev); len(edits) > 0 {
		return ev.With(agui.SetKeys(ev.JSON, edits...))
	}
	return ev
}

// InThread returns an event of a dialect with the client's id of the thread.
func (l Listener) InThread(ev agui.Event) agui.Event {
	if !l.hasOtherThread() || ev.Type != agui.RunStarted && ev.Type != agui.RunFinished || !ev.Valid() {
		return ev
	}
	var few [2]agui.Edit
	if edits := l.appendThread(l.appendEcho(few[:0], ev), ev); len(edits) > 0 {
		return ev.With(agui.SetKeys(ev.JSON, edits...))
	}
	return ev
}

// ForClient returns an end of a run as the client can read it. The outcome cancelled and the
// member pendingToolCallIds came with AG-UI 1.0. Older clients, which declare no version, fail at
// either and keep their list of open questions (@ag-ui/client 0.0.59). Without them the run has
// finished for such a client.
func (l Listener) ForClient(finish agui.Event) agui.Event {
	if finish.Type != agui.RunFinished || l.In.ProtocolVersion != "" || l.Show == translate.ShowNative || !finish.Valid() {
		return finish
	}
	switch outcome := agui.View(finish.JSON).Get("outcome"); {
	case outcome.Get("type").Str == "cancelled":
		return finish.With(agui.DeleteKey(finish.JSON, "outcome"))
	case outcome.Get("pendingToolCallIds").Exists():
		return finish.With(agui.DeleteKey(finish.JSON, "outcome.pendingToolCallIds"))
	}
	return finish
}

// appendIDs appends what WithIDs has to change in an event.
func (l Listener) appendIDs(edits []agui.Edit, ev agui.Event) []agui.Edit {
	if ev.Type == agui.RunErrored && ev.Valid() {
		return l.appendThread(edits, ev) // some backends name it there too (CrewAI)
	}
	if ev.Type != agui.RunStarted && ev.Type != agui.RunFinished || !ev.Valid() {
		return edits
	}
	if edits = l.appendEcho(edits, ev); l.Later {
		return l.appendThread(edits, ev)
	}
	object := agui.View(ev.JSON)
	if object.Get("threadId").Str != l.Thread {
		edits = append(edits, agui.Edit{Key: "threadId", Text: l.Thread})
	}
	if object.Get("runId").Str != l.In.RunID {
		edits = append(edits, agui.Edit{Key: "runId", Text: l.In.RunID})
	}
	if ev.Type == agui.RunStarted && l.In.ProtocolVersion != "" && !object.Get("protocolVersion").Exists() {
		edits = append(edits, agui.Edit{Key: "protocolVersion", Text: protocolVersion})
	}
	return edits
}

// hasOtherThread reports whether the backend knows the thread by another id.
func (l Listener) hasOtherThread() bool { return l.Thread != l.In.ThreadID }

// appendThread appends what has to change in an event that names the backend's thread where the
// client's belongs.
func (l Listener) appendThread(edits []agui.Edit, ev agui.Event) []agui.Edit {
	if l.hasOtherThread() && agui.View(ev.JSON).Get("threadId").Str == l.In.ThreadID {
		edits = append(edits, agui.Edit{Key: "threadId", Text: l.Thread})
	}
	return edits
}

// appendEcho appends what has to change in a RUN_STARTED that repeats the input.
func (l Listener) appendEcho(edits []agui.Edit, ev agui.Event) []agui.Edit {
	if !l.hasOtherThread() || ev.Type != agui.RunStarted {
		return edits
	}
	echo := agui.View(ev.JSON).Get("input")
	if !echo.IsObject() || echo.Get("threadId").Str != l.In.ThreadID {
		return edits
	}
	return append(edits, agui.Edit{Key: "input", JSON: agui.SetString([]byte(echo.Raw), "threadId", l.Thread)})
}

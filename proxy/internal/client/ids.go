package client

import (
	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// protocolVersion is the version that Holdpoint declares to the client if the backend declares
// none.
const protocolVersion = "1.0"

// Start returns a RUN_STARTED with the ids of the client's request.
func (l Listener) Start() agui.Event {
	version := ""
	if l.In.ProtocolVersion != "" {
		version = protocolVersion
	}
	return agui.StartedEvent(l.Thread, l.In.RunID, version)
}

// Finish returns a RUN_FINISHED without an outcome, with the ids of the client's request.
func (l Listener) Finish() agui.Event { return agui.FinishedEvent(l.Thread, l.In.RunID) }

// WithIDs sets the ids of a run's first or last event to those of the request. It returns any other
// event unchanged. This is needed because some backends invent run ids: LangGraph's TypeScript
// adapter ends every run with an id of the server. In a RUN_ERROR that names a thread, WithIDs
// replaces only the thread id.
func (l Listener) WithIDs(ev agui.Event) agui.Event {
	var few [3]agui.Edit
	if edits := l.appendIDs(few[:0], ev); len(edits) > 0 {
		return ev.WithJSON(agui.SetKeys(ev.JSON, edits...))
	}
	return ev
}

// InThread sets the thread id of an event that a dialect has made to the id that the client sent.
func (l Listener) InThread(ev agui.Event) agui.Event {
	if !l.hasOtherThread() || ev.Type != agui.RunStarted && ev.Type != agui.RunFinished || !ev.Valid() {
		return ev
	}
	var few [2]agui.Edit
	if edits := l.appendThread(l.appendEcho(few[:0], ev), ev); len(edits) > 0 {
		return ev.WithJSON(agui.SetKeys(ev.JSON, edits...))
	}
	return ev
}

// ForClient returns the end of a run in a form that the client can read. AG-UI 1.0 added the
// outcome cancelled and the member pendingToolCallIds. Older clients, which declare no version,
// fail at both, and then do not clear their list of open questions (@ag-ui/client 0.0.59). For them
// ForClient removes both, so that the run has simply finished.
func (l Listener) ForClient(finish agui.Event) agui.Event {
	if finish.Type != agui.RunFinished || l.In.ProtocolVersion != "" || l.Show == translate.ShowNative || !finish.Valid() {
		return finish
	}
	switch outcome := agui.View(finish.JSON).Get("outcome"); {
	case outcome.Get("type").Str == "cancelled":
		return finish.WithJSON(agui.DeleteKey(finish.JSON, "outcome"))
	case outcome.Get("pendingToolCallIds").Exists():
		return finish.WithJSON(agui.DeleteKey(finish.JSON, "outcome.pendingToolCallIds"))
	}
	return finish
}

// appendIDs appends to edits what WithIDs must change in an event.
func (l Listener) appendIDs(edits []agui.Edit, ev agui.Event) []agui.Edit {
	if ev.Type == agui.RunErrored && ev.Valid() {
		// the RUN_ERROR of some backends contains the thread id (CrewAI)
		return l.appendThread(edits, ev)
	}
	if ev.Type != agui.RunStarted && ev.Type != agui.RunFinished || !ev.Valid() {
		return edits
	}
	if edits = l.appendEcho(edits, ev); l.FollowsRun {
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

// hasOtherThread reports whether the backend uses another thread id than the client.
func (l Listener) hasOtherThread() bool { return l.Thread != l.In.ThreadID }

// appendThread appends the edit that replaces the backend's thread id in an event by the client's.
func (l Listener) appendThread(edits []agui.Edit, ev agui.Event) []agui.Edit {
	if l.hasOtherThread() && agui.View(ev.JSON).Get("threadId").Str == l.In.ThreadID {
		edits = append(edits, agui.Edit{Key: "threadId", Text: l.Thread})
	}
	return edits
}

// appendEcho appends the edit that corrects the thread id in the input, which a RUN_STARTED may
// repeat.
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

package proxy

import (
	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/client"
	"holdpoint/proxy/internal/history"
	"holdpoint/proxy/internal/settle"
	"holdpoint/store"
	"holdpoint/translate"
)

// A person may have answered a question at the desk (the web page of approvers), or in another way
// than the chat. If the chat then sends a new message, its history is old. The backend would
// believe that history, and would call the model again or ask again. So Holdpoint sends the
// messages of the record together with the new message. The client gets these messages too.

// A missedEnd is the end of a pause that the chat does not know yet. shown has the events that show
// the end to the client.
type missedEnd struct {
	pauseID string
	shown   []agui.Event
}

// catchUp replaces the older messages of the request by those of the record. The parameter m is the
// result of the pause whose end the chat has missed, or nil. The parameter newMessages has the new
// messages of the request. catchUp returns nil if m is nil, or if the record lacks the missed
// messages.
func (j *judge) catchUp(m *store.Result, newMessages []agui.Message) *missedEnd {
	if m == nil {
		return nil
	}
	shown := j.fetch(settle.EndedRef(m))
	before, all, known := history.CatchUp(shown, newMessages)
	if !known {
		j.log.Warn(logMissedUnknown)
		return nil
	}
	j.in = j.in.WithMessages(all)
	v := j.view()
	j.replies = history.ReadReplies(&v) // the indexes of the messages have changed
	missed := &missedEnd{pauseID: m.PauseID}
	if agui.HasMembers(shown.State) {
		j.in.State = shown.State
		j.in.Raw = agui.SetKey(j.in.Raw, "state", shown.State)
		missed.shown = append(missed.shown, client.StateEvent(shown.State))
	}
	// A client keeps the order of the messages that it has, and appends the others. So two
	// snapshots are sent, and the first lacks the new message. With a single snapshot, the new
	// message would precede the missed messages.
	missed.shown = append(missed.shown, agui.SnapshotEvent(agui.MessageList(before)), agui.SnapshotEvent(agui.MessageList(all)))
	return missed
}

// tellMissed sends the client the messages that it missed, and writes into the record that it did.
// It is called after RUN_STARTED was sent. A backend that speaks AG-UI already has the new message
// then. Any other backend may get it with a later exchange of the run.
func (b *body) tellMissed() {
	m := b.client.missedEnd
	b.client.missedEnd = nil
	if b.judge.show != translate.ShowNative {
		b.sendEvents(m.shown)
	}
	if err := b.judge.ledger.MarkSeen(m.pauseID); err != nil {
		b.judge.log.Warn(logCaughtUpUnsaved, "err", err)
	}
}

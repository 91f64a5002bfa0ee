package proxy

import (
	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/client"
	"holdpoint/proxy/internal/history"
	"holdpoint/proxy/internal/settle"
	"holdpoint/store"
	"holdpoint/translate"
)

// If a person has decided a question at the desk or by another door than the chat, the chat may
// then send a new message with its old history. The backend would believe that history, and would
// call the model again or ask again. So Holdpoint sends the messages of the record together with
// the new message. The client gets these messages too.

// A missedEnd is the end of a pause that a chat does not know yet. shown has the events that show
// it.
type missedEnd struct {
	pauseID string
	shown   []agui.Event
}

// catchUp replaces the older messages of the request by those of the record. m is the result of the
// pause whose end the chat has missed, nil if it has missed no end. fresh are the new messages of
// the request. catchUp returns nil if the chat has missed no end, or if the record does not have
// the missed messages.
func (j *judge) catchUp(m *store.Result, fresh []agui.Message) *missedEnd {
	if m == nil {
		return nil
	}
	shown := j.fetch(settle.EndedRef(m))
	before, all, known := history.CatchUp(shown, fresh)
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
	// A client keeps the order of the messages that it has, and appends others. So the first of two
	// snapshots omits the new message. With only one snapshot, the new message would precede the
	// missed messages.
	missed.shown = append(missed.shown, agui.SnapshotEvent(agui.MessageList(before)), agui.SnapshotEvent(agui.MessageList(all)))
	return missed
}

// tellMissed sends the client the messages that it missed, and records that it did. It is called
// after RUN_STARTED was sent. A backend that speaks AG-UI has the new message at that time. Another
// backend may get it with a later exchange of the run.
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

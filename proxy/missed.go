package proxy

import (
	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/client"
	"holdpoint/proxy/internal/history"
	"holdpoint/proxy/internal/settle"
	"holdpoint/store"
	"holdpoint/translate"
)

// After somebody has decided a question at another door, the chat may send a new message with its
// old history. The backend would believe that history, and would call the model again or ask again.
// So the backend gets the messages of the record with the new message, and the client gets them
// too.

// A missedEnd is an end of a question that a chat has missed.
type missedEnd struct {
	pauseID string
	shown   []agui.Event
}

// catchUp replaces the older messages of the request by those of the record. m is the end that the
// chat has missed, nil if it has missed none, and fresh are its new messages. It returns nil if the
// chat has missed nothing, or if the record does not have what it missed.
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
	j.replies = history.ReadReplies(&v) // their places have changed
	missed := &missedEnd{pauseID: m.PauseID}
	if agui.HasMembers(shown.State) {
		j.in.State = shown.State
		j.in.Raw = agui.SetKey(j.in.Raw, "state", shown.State)
		missed.shown = append(missed.shown, client.StateEvent(shown.State))
	}
	// A client keeps the order of the messages that it has, and appends others. So the first
	// snapshot omits the new message; otherwise that message would precede the missed ones.
	missed.shown = append(missed.shown, agui.SnapshotEvent(agui.MessageList(before)), agui.SnapshotEvent(agui.MessageList(all)))
	return missed
}

// tellMissed sends the client the messages that it missed, after RUN_STARTED, and records that it
// did. A backend that speaks AG-UI has the new message by then; another one may get it with a later
// exchange of the run.
func (b *body) tellMissed() {
	m := b.client.missed
	b.client.missed = nil
	if b.judge.show != translate.ShowNative {
		b.tell(m.shown)
	}
	if err := b.judge.ledger.See(m.pauseID); err != nil {
		b.judge.log.Warn(logCaughtUpUnsaved, "err", err)
	}
}

package proxy

import (
	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/client"
	"holdpoint/proxy/internal/history"
	"holdpoint/proxy/internal/settle"
	"holdpoint/store"
	"holdpoint/translate"
)

// A chat may come back with a new message and the history of before somebody decided its question
// elsewhere. The backend would take that history for what is: it would call the model again, or
// go back and ask again. So it gets what the record knows, with the new message, and so does the
// client.

// A missedEnd is what a chat has missed.
type missedEnd struct {
	pauseID string
	shown   []agui.Event
}

// catchUp puts what the record knows in the place of the older messages of the request. m is the
// end that the chat has missed, nil if it has missed none, and fresh are its new messages. It
// returns nil if the chat has missed nothing, or if the record does not know what.
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
	j.replies = history.ReadReplies(&v) // they stand elsewhere now
	missed := &missedEnd{pauseID: m.PauseID}
	if agui.HasMembers(shown.State) {
		j.in.State = shown.State
		j.in.Raw = agui.SetKey(j.in.Raw, "state", shown.State)
		missed.shown = append(missed.shown, client.StateEvent(shown.State))
	}
	// A client leaves the messages that it has where they are, and puts others behind them. So the
	// new message goes away for a moment, or it would stand before what was said when it was away.
	missed.shown = append(missed.shown, agui.SnapshotEvent(agui.MessageList(before)), agui.SnapshotEvent(agui.MessageList(all)))
	return missed
}

// tellMissed tells the client what it has missed, behind RUN_STARTED, and notes that it was told. A
// backend that speaks AG-UI has the new message by then; another one may get it by a later exchange
// of the run.
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

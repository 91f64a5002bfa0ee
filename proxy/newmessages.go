package proxy

import (
	"hash/maphash"
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/store"
	"holdpoint/translate"
)

// If a backend keeps the conversation of each thread, it must get an answer without the recorded
// conversation. Otherwise it would have the conversation twice. The stream does not show that a
// backend keeps the conversation. But its clients send only new messages, and their requests show
// that.

// maxSenders is the largest number of senders that a process remembers.
const maxSenders = 16 << 10

// A sender identifies a client: the thread that the client names, and the principal of its runs.
type sender struct {
	thread store.Key
	owner  string // see ledger.Ledger.Owner
}

// A sendingHabit describes how a client sends the conversation. It is learned from the client's
// runs that ended well. A client that sends the whole conversation repeats earlier messages of the
// user, or sends messages of the assistant.
type sendingHabit struct {
	// first and last are the first and the last user message of the newest request that had a user
	// message but no message of the assistant.
	first, last messageHash
	// deltas counts consecutive requests that repeat no message of the previous request (deltas).
	// It is 0 after the first request. It is -1 after a request with the conversation, so that one
	// more delta is needed: a chat that begins anew on its old thread also sends one request that
	// looks like a delta.
	deltas int8
	// seen means that there was a request. It is false for an unknown client.
	seen bool
}

const (
	// newOnlyDeltas is the number of deltas from which a client counts as one that sends only new
	// messages. A delta is a request that repeats no message of the previous request.
	newOnlyDeltas = 1
	// newOnlyPageDeltas is the same number for a page in a browser. A page that is loaded again may
	// have lost its messages, so that its next request looks like a delta although it is not.
	newOnlyPageDeltas = 2
	// deniedDeltas is the value of sendingHabit.deltas after a backend has failed at an answer
	// without the conversation. More runs are then needed before the client counts as one that
	// sends only new messages.
	deniedDeltas = -2
)

// A messageHash identifies a message by its id or by its content, because some clients give their
// messages new ids in each request. id is 0 if the message has no id.
type messageHash struct{ id, content uint64 }

var messageSeed = maphash.MakeSeed()

func hashMessage(m *agui.Message) messageHash {
	h := messageHash{content: maphash.String(messageSeed, agui.View(m.JSON).Get("content").Raw)}
	if m.ID != "" {
		h.id = maphash.String(messageSeed, m.ID)
	}
	return h
}

// equals reports whether two hashes have the same id or the same content. The zero hash has no
// equal.
func (h messageHash) equals(other messageHash) bool {
	return h != messageHash{} && (h.content == other.content || h.id != 0 && h.id == other.id)
}

// after returns the habit after a request with the messages in list. If list has no message of the
// user or the assistant, the habit does not change.
func (h sendingHabit) after(list []agui.Message) sendingHabit {
	var next sendingHabit
	brings := false
	for n := range list {
		switch list[n].Role {
		case "assistant":
			return sendingHabit{deltas: -1, seen: true}
		case "user":
			one := hashMessage(&list[n])
			brings = brings || h.first.equals(one) || h.last.equals(one)
			if next.last = one; !next.seen {
				next.first, next.seen = one, true
			}
		}
	}
	switch {
	case !next.seen:
		return h
	case brings:
		next.deltas = -1
	case h.seen:
		next.deltas = min(h.deltas+1, newOnlyPageDeltas)
	}
	return next
}

// showsNewOnly reports whether the given number of deltas shows that a client sends only new
// messages. page means that the client is a page in a browser.
func showsNewOnly(deltas int8, page bool) bool {
	if page {
		return deltas >= newOnlyPageDeltas
	}
	return deltas >= newOnlyDeltas
}

// sender returns the key of the client in processMemory.senders.
func (t *thread) sender() sender { return sender{t.callsKey(), t.ledger.Owner} }

// habit returns the client's habit after the current request. If the process has seen no earlier
// run of the client, it starts with the habit that is noted in the record's newest pause. If
// Holdpoint itself sends the request, for a decision of the desk, the habit does not change.
func (t *thread) habit() sendingHabit {
	before, known := t.memory.senders.Get(t.sender())
	if !known {
		before = t.recordedHabit()
	}
	if t.request.isOwn {
		return before
	}
	return before.after(t.request.input.Messages)
}

// recordedHabit returns the habit that is noted in the record's newest pause. It returns the zero
// habit if the pause has no such note, or if the current request repeats a message of the paused
// run.
func (t *thread) recordedHabit() sendingHabit {
	p, seen := t.record.Pause, []agui.SeenMessage(nil)
	if p != nil {
		seen = p.SeenMessages
	} else if len(t.record.Results) > 0 {
		p, seen = t.record.Results[0].Pause, t.record.Results[0].SeenMessages
	}
	if p == nil || !p.NewOnly {
		return sendingHabit{}
	}
	brings := func(m agui.Message) bool { return slices.Contains(seen, agui.NewSeenMessage(m)) }
	if slices.ContainsFunc(t.request.input.Messages, brings) {
		return sendingHabit{}
	}
	return sendingHabit{deltas: newOnlyPageDeltas, seen: true}
}

// noteHabit remembers the habit for the client's next run. It is called only for a run that ended
// well. After a failed run, a client may leave out the message that got no answer, so its next
// request would look like a delta.
func (c *clientSide) noteHabit() {
	if c.judge.request.isOwn {
		return
	}
	h := c.judge.habit()
	if !h.seen || h.deltas > 0 && h.first == (messageHash{}) {
		return // the habit comes from the record, which has no hashes for comparing later requests
	}
	// the value at the start of this run, because another run may have ended since
	h.deltas = c.deltas
	if now, _ := c.judge.memory.senders.Get(c.judge.sender()); now.deltas < 0 {
		h.deltas = min(h.deltas, 0)
	}
	c.judge.memory.senders.Add(c.judge.sender(), h)
}

// denyHabit remembers that a backend failed at an answer without the conversation. So Holdpoint
// sends the client's next answer with the conversation. Without this, the chat would stay locked if
// Holdpoint was wrong about the client.
func (c *clientSide) denyHabit() {
	c.judge.memory.senders.Add(c.judge.sender(), sendingHabit{deltas: deniedDeltas, seen: true})
}

// newOnlyNote is the id of a note in the record. The note means that a client of the thread has
// sent an answer that consisted only of results of calls.
const newOnlyNote = "new messages only"

// sendsNewOnly reports whether the client sends only new messages. Then its answer to the pause is
// sent to the backend without the recorded conversation. There are two signs for this. The record
// has both, for other replicas and for the time after a restart.
//
// The first sign is an answer that consists only of results of calls. A client that sends its
// conversation would also send the calls, and a chat that begins anew has no results. A note keeps
// this sign for all later answers of the thread. The second sign is the client's habit before the
// question (agui.Pause.NewOnly). If an answer contains a part of the conversation, no sign counts.
// A decision of the desk does not come from the client, so it is sent with the conversation.
func (t *thread) sendsNewOnly(p *agui.Pause) bool {
	if stateless, ok := t.opts.Dialect.(translate.Stateless); t.request.isOwn || ok && (stateless.KeepsNothing(p) || stateless.ReadsCalls(p)) {
		return false
	}
	noted := slices.ContainsFunc(t.record.Notes, func(n store.Note) bool { return n.ID == newOnlyNote })
	list := t.request.input.Messages
	if !onlyResults(list) {
		before, _ := t.memory.senders.Get(t.sender())
		return before.deltas > deniedDeltas && (noted || p.NewOnly && !hasAssistant(list)) && !t.listener().BringsConversation(p)
	}
	if noted {
		return true
	}
	if err := t.ledger.Remember(store.Note{ID: newOnlyNote, Text: agui.MustMarshal(true)}, store.MaxNotes); err != nil {
		t.log.Warn(logNewOnlyUnsaved, "err", err)
	}
	return true
}

// onlyResults reports whether the list is not empty and each message in it is a result of a call.
func onlyResults(list []agui.Message) bool {
	return len(list) > 0 && !slices.ContainsFunc(list, func(m agui.Message) bool { return m.Role != "tool" })
}

// hasAssistant reports whether a list has a message of the assistant.
func hasAssistant(list []agui.Message) bool {
	return slices.ContainsFunc(list, func(m agui.Message) bool { return m.Role == "assistant" })
}

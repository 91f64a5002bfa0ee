package proxy

import (
	"hash/maphash"
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/store"
	"holdpoint/translate"
)

// A backend that keeps the conversation of each thread must get an answer without the recorded
// conversation. Otherwise it would have the conversation twice. The stream does not show that the
// backend keeps it. But the clients of such a backend send only new messages, and their requests
// show that.

// maxSenders bounds the senders that a process remembers.
const maxSenders = 16 << 10

// A sender identifies a client: the thread that the client names, and the principal of its runs.
type sender struct {
	thread store.Key
	owner  string // see ledger.Ledger.Owner
}

// A sendingHabit describes how a client sends the conversation, as seen in its runs that ended
// well. A client that sends the whole conversation repeats earlier messages of the user, or brings
// messages of the assistant.
type sendingHabit struct {
	// first and last are the user's first and last message in the newest request that had a message
	// of the user and no message of the assistant.
	first, last messageHash
	// deltas counts consecutive requests without a message of the previous request. It is 0 after the
	// first request. It is -1 after a request with the conversation, because a chat that begins anew
	// on its old thread looks like one delta.
	deltas int8
	// seen reports that there was a request. It is false for an unknown client.
	seen bool
}

const (
	// newOnlyDeltas is the number of deltas that show that a client sends only new messages.
	newOnlyDeltas = 1
	// newOnlyPageDeltas is the same number for a page in a browser. A page that is loaded again may
	// have lost its messages, so that its next request looks like a delta.
	newOnlyPageDeltas = 2
	// deniedDeltas is the number after a backend failed at an answer without the conversation. More
	// runs are then required before the client counts as one that sends only new messages.
	deniedDeltas = -2
)

// A messageHash identifies a message by its id and its content. Some clients give their messages
// new ids in each request. id is 0 if the message has none.
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

// after returns the habit after a request with the messages of list. A request without messages of
// the user and the assistant does not change the habit.
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

// showsNewOnly reports whether this number of deltas shows that a client sends only new messages.
func showsNewOnly(deltas int8, page bool) bool {
	if page {
		return deltas >= newOnlyPageDeltas
	}
	return deltas >= newOnlyDeltas
}

// sender returns the key of the client's habit in the memory of the process.
func (t *thread) sender() sender { return sender{t.callsKey(), t.ledger.Owner} }

// habit returns the client's habit after the current request. If the process has not seen earlier
// runs of the client, it uses the record's newest question. A request that Holdpoint itself sends
// for a decision of the desk does not change the habit.
func (t *thread) habit() sendingHabit {
	before, known := t.memory.senders.Get(t.sender())
	if !known {
		before = t.recordedHabit()
	}
	if t.request.ours {
		return before
	}
	return before.after(t.request.input.Messages)
}

// recordedHabit returns the habit that is noted in the record's newest question. It returns the
// zero habit if the question has no note, or if the current request repeats a message of the paused
// run.
func (t *thread) recordedHabit() sendingHabit {
	p, seen := t.record.Pause, []agui.SeenMessage(nil)
	if p != nil {
		seen = p.Seen
	} else if len(t.record.Results) > 0 {
		p, seen = t.record.Results[0].Pause, t.record.Results[0].Seen
	}
	if p == nil || !p.NewOnly {
		return sendingHabit{}
	}
	brings := func(m agui.Message) bool { return slices.Contains(seen, agui.See(m)) }
	if slices.ContainsFunc(t.request.input.Messages, brings) {
		return sendingHabit{}
	}
	return sendingHabit{deltas: newOnlyPageDeltas, seen: true}
}

// noteHabit remembers the habit for the next run. It is called only for a run that ended well,
// because a client may drop a message that got no answer.
func (c *clientSide) noteHabit() {
	if c.judge.request.ours {
		return
	}
	h := c.judge.habit()
	if !h.seen || h.deltas > 0 && h.first == (messageHash{}) {
		return // the habit is the record's, which has no hashes to compare later requests with
	}
	h.deltas = c.deltas // of the run's start, because another run may have ended since
	if now, _ := c.judge.memory.senders.Get(c.judge.sender()); now.deltas < 0 {
		h.deltas = min(h.deltas, 0)
	}
	c.judge.memory.senders.Add(c.judge.sender(), h)
}

// denyHabit remembers that a backend failed at an answer without the conversation. So the next
// answer of the client is sent with the conversation, and its chat is not locked if the sign was
// wrong.
func (c *clientSide) denyHabit() {
	c.judge.memory.senders.Add(c.judge.sender(), sendingHabit{deltas: deniedDeltas, seen: true})
}

// newOnlyNote is the id of the note of a record whose client has answered by results alone.
const newOnlyNote = "new messages only"

// sendsNewOnly reports whether the client sends only new messages, so that its answer to the pause
// is sent to the backend without the recorded conversation. There are two signs. The record keeps
// both, for other replicas and for a restart.
//
// The first sign is an answer that consists only of results of calls. A client that sends its
// conversation would also send the calls, and a chat that begins anew has no results. A note keeps
// this sign for all later answers of the thread. The second sign is the client's habit before the
// question (agui.Pause.NewOnly). No sign counts for an answer with a part of the conversation. A
// decision of the desk does not come from the client, so it is sent with the conversation.
func (t *thread) sendsNewOnly(p *agui.Pause) bool {
	if stateless, ok := t.opts.Dialect.(translate.Stateless); t.request.ours || ok && (stateless.KeepsNothing(p) || stateless.ReadsCalls(p)) {
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

// onlyResults reports whether a list is not empty and each of its messages is a result of a call.
func onlyResults(list []agui.Message) bool {
	return len(list) > 0 && !slices.ContainsFunc(list, func(m agui.Message) bool { return m.Role != "tool" })
}

// hasAssistant reports whether a list has a message of the assistant.
func hasAssistant(list []agui.Message) bool {
	return slices.ContainsFunc(list, func(m agui.Message) bool { return m.Role == "assistant" })
}

package proxy

import (
	"hash/maphash"
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/store"
	"holdpoint/translate"
)

// A backend that keeps the conversation of each thread must not be sent the recorded conversation
// with an answer, because it would have it twice. Nothing on the wire says that it keeps it. But
// its clients send new messages only, and their requests show that.

// maxSenders bounds the senders that a process remembers.
const maxSenders = 16 << 10

// A sender is a thread as its client names it, together with the principal that sends its runs.
type sender struct {
	thread store.Key
	owner  string // see ledger.Ledger.Owner
}

// A sendingHabit is what the runs of a sender that ended well show of how it sends the
// conversation. A client that sends all of it brings the earlier messages of the user, or those of
// the assistant.
type sendingHabit struct {
	// first and last are the user's messages at both ends of the newest request that had such a
	// message and none of the assistant.
	first, last messageHash
	// deltas counts the requests in a row that brought none of the messages of the request before.
	// It is 0 after the first request, and -1 after one that brought the conversation: a chat that
	// begins anew on its old thread looks like one delta.
	deltas int8
	// seen reports that there was a request. The zero habit belongs to an unknown sender.
	seen bool
}

const (
	// newOnlyDeltas is the number of deltas after which a client sends new messages only.
	newOnlyDeltas = 1
	// newOnlyPageDeltas is that number for a page in a browser. A page that is loaded again has often
	// lost its messages, and its next request looks like a delta.
	newOnlyPageDeltas = 2
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

// after returns the habit after a request with these messages. A request without a user's and an
// assistant's message shows nothing.
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

// showsNewOnly reports whether so many deltas show that a client sends new messages only.
func showsNewOnly(deltas int8, page bool) bool {
	if page {
		return deltas >= newOnlyPageDeltas
	}
	return deltas >= newOnlyDeltas
}

// sender returns the key of the thread's habit.
func (t *thread) sender() sender { return sender{t.callsKey(), t.ledger.Owner} }

// habit returns how the thread's client sends the conversation, with this request. A process that
// has not seen the client's runs takes it from the record's newest question. A request of
// Holdpoint's own, which carries a decision of the desk, shows nothing of the client.
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

// recordedHabit returns what the newest question of the record notes of its client's habit. The
// habit is unknown if the record notes nothing, and if the request brings a message of that time.
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

// noteHabit remembers the habit for the next run. It is called for a run that ended well, because a
// client may drop a message that got no answer.
func (c *clientSide) noteHabit() {
	if c.judge.request.ours {
		return
	}
	if h := c.judge.habit(); h.seen {
		h.deltas = c.deltas // as they were when the run began: another run may have ended since
		c.judge.memory.senders.Add(c.judge.sender(), h)
	}
}

// newOnlyNote is the id of the note of a record whose client has answered by results alone.
const newOnlyNote = "new messages only"

// sendsNewOnly reports whether the client sends new messages only, so that its answer to the pause
// goes to the backend without the recorded conversation. There are two signs. The record keeps
// both, for other replicas and for this one after a restart.
//
// An answer by results alone is one: a client that sends its conversation has the calls of its
// results, and a chat that begins anew has no results. A note keeps it for all later answers of the
// thread. The other is the habit that the client showed before the question (agui.Pause.NewOnly).
// Neither counts for an answer that brings the conversation. A decision of the desk is not the
// client's, so it goes with the conversation.
func (t *thread) sendsNewOnly(p *agui.Pause) bool {
	if stateless, ok := t.opts.Dialect.(translate.Stateless); t.request.ours || ok && (stateless.KeepsNothing(p) || stateless.ReadsCalls(p)) {
		return false
	}
	noted := slices.ContainsFunc(t.record.Notes, func(n store.Note) bool { return n.ID == newOnlyNote })
	list := t.request.input.Messages
	if !onlyResults(list) {
		return (noted || p.NewOnly && !hasAssistant(list)) && !t.listener().BringsConversation(p)
	}
	if noted {
		return true
	}
	if err := t.ledger.Remember(store.Note{ID: newOnlyNote, Text: agui.MustMarshal(true)}, store.MaxNotes); err != nil {
		t.log.Warn(logNewOnlyUnsaved, "err", err)
	}
	return true
}

// onlyResults reports whether a list has messages, and each is a result of a call.
func onlyResults(list []agui.Message) bool {
	return len(list) > 0 && !slices.ContainsFunc(list, func(m agui.Message) bool { return m.Role != "tool" })
}

// hasAssistant reports whether a list has a message of the assistant.
func hasAssistant(list []agui.Message) bool {
	return slices.ContainsFunc(list, func(m agui.Message) bool { return m.Role == "assistant" })
}

package proxy

import (
	"hash/maphash"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/store"
	"holdpoint/translate/kit"
)

// A client may send its new messages only, because its backend keeps the conversation. Such a
// backend must not be sent the conversation again with an answer: it would append it to what it
// keeps. Another client sends its whole conversation, but answers with messages: [], and its
// backend may keep nothing. The two differ in requests that follow an answered one on the same
// thread.

// A lastMessage is the last message of a person in the requests of a thread, by its hashes. id is 0
// if it has none.
type lastMessage struct{ id, content uint64 }

// maxLastMessages bounds the threads whose last message is remembered.
const maxLastMessages = 16 << 10

var lastMessageSeed = maphash.MakeSeed()

func lastMessageOf(m *agui.Message) lastMessage {
	content := agui.View(m.JSON).Get("content")
	text := content.Raw
	if content.Type == gjson.String {
		text = content.Str
	}
	l := lastMessage{content: maphash.String(lastMessageSeed, text)}
	if m.ID != "" {
		l.id = maphash.String(lastMessageSeed, m.ID)
	}
	return l
}

// isIn reports whether a message of the list has the same id or the same content. Some clients
// rename their messages.
func (l lastMessage) isIn(list []agui.Message) bool {
	for n := range list {
		if other := lastMessageOf(&list[n]); other.content == l.content || l.id != 0 && other.id == l.id {
			return true
		}
	}
	return false
}

// noteLastMessage remembers the last message that a run brought. It is called if the run has ended
// well or asks, because a client may drop a message that got no answer.
func (r *run) noteLastMessage() {
	if r.request.ours {
		return
	}
	list := r.request.input.Messages
	for n := len(list) - 1; n >= 0; n-- {
		if list[n].Role == "user" {
			r.h.lastMessages.Add(r.callsKey(), lastMessageOf(&list[n]))
			return
		}
	}
}

// bringsNewOnly reports whether the request is known to bring new messages only: it has no message
// of the assistant, and lacks the last message that the thread has brought before. The record tells
// that too, if the thread was asked before.
func (r *run) bringsNewOnly() bool {
	list := r.request.input.Messages
	if len(list) == 0 || slices.ContainsFunc(list, func(m agui.Message) bool { return m.Role == "assistant" }) {
		return false
	}
	if last, ok := r.h.lastMessages.Get(r.callsKey()); ok {
		return !last.isIn(list)
	}
	at := slices.IndexFunc(r.record.Results, func(result *store.Result) bool { return len(result.Seen) > 0 })
	return at >= 0 && !bringsTurns(list, func(m agui.SeenMessage) bool { return slices.Contains(r.record.Results[at].Seen, m) })
}

// answersNewOnly reports whether a resume of p comes from a client that sends its new messages
// only. A client whose programs bring the conversation with each answer sends messages: [] for no
// other reason.
func (r *run) answersNewOnly(p *agui.Pause) bool {
	if r.request.ours {
		return p.NewOnly
	}
	list := r.request.input.Messages
	return p.NewOnly && !bringsTurns(list, p.Knows) || len(list) == 0 && r.request.client.BringsConversation()
}

// bringsTurns reports whether a message is known that a person, the assistant or a tool has
// written. Some clients send a system's message with each request.
func bringsTurns(list []agui.Message, known func(agui.SeenMessage) bool) bool {
	return slices.ContainsFunc(list, func(m agui.Message) bool { return kit.IsTurn(m) && known(agui.See(m)) })
}

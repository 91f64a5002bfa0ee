package transcript

import (
	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// A MESSAGES_SNAPSHOT deletes the messages that it omits, with one exception: a client keeps its
// reasoning messages if the snapshot has no message of that role, and its activities likewise
// (@ag-ui/client 0.0.59 and 1.0.0, MESSAGES_SNAPSHOT in src/apply/default.ts). So a list with one
// message of such a role must have all messages of that role, and a list that lacks some must have
// none.

// maxStayed bounds the messages that are kept through all snapshots of a stream together, because
// there may be many short snapshots and many messages kept through each.
const maxStayed = 1 << 19

// stays reports whether a client keeps messages of the role through a snapshot that has none of
// that role.
func stays(role string) bool { return role == "reasoning" || role == "activity" }

// miss records that the client has messages of the role that are not known.
func (t *Transcript) miss(role string) {
	if t.missing == nil {
		t.missing = map[string]bool{}
	}
	t.missing[role] = true
}

// staying returns the messages that the client keeps through a snapshot with this list, by the id
// of the list's message that they follow; "" is the beginning of the list.
func (t *Transcript) staying(list gjson.Result) map[string][]*message {
	ids, roles := map[string]bool{}, map[string]bool{}
	list.ForEach(func(_, m gjson.Result) bool {
		ids[m.Get("id").Str], roles[m.Get("role").Str] = true, true
		return true
	})
	found, behind := map[string][]*message{}, ""
	for _, m := range t.messages {
		switch {
		case ids[m.id]:
			behind = m.id
		case !stays(m.role) || roles[m.role]:
		case t.tooLarge, t.stayed >= maxStayed:
			t.miss(m.role) // its contents were dropped
		default:
			t.stayed++
			found[behind] = append(found[behind], m)
		}
	}
	for role := range roles {
		delete(t.missing, role) // the client has those in the list from now on
	}
	return found
}

// stay appends messages that are kept through a snapshot.
func (t *Transcript) stay(list []*message) {
	for _, m := range list {
		t.byID[m.id] = m
		t.keep(m)
		t.grow(len(m.json) + len(m.content) + len(m.encrypted))
	}
}

// applyMessages replaces the messages by those of a MESSAGES_SNAPSHOT, as the client does. The
// calls remain known.
func (t *Transcript) applyMessages(ev agui.Event) {
	list := agui.View(ev.JSON).Get("messages")
	stay := t.staying(list)
	t.messages, t.byID, t.size, t.tooLarge, t.messageSent = nil, map[string]*message{}, 0, false, true
	t.held, t.full, t.ids = 0, false, 0
	for _, c := range t.calls {
		c.in = nil
		t.ids += c.cost()
	}
	t.stay(stay[""])
	list.ForEach(func(_, m gjson.Result) bool {
		if m.IsObject() {
			m := agui.ParseMessage([]byte(m.Raw)) // a copy: the event's bytes go
			t.addMessage(m)
			if m.ID != "" {
				t.stay(stay[m.ID])
				delete(stay, m.ID) // the list may have an id twice
			}
		}
		return true
	})
	if t.tooLarge {
		t.ForgetMessages() // also drops the messages after the one that exceeded the limit
	}
}

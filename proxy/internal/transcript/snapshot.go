package transcript

import (
	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// A MESSAGES_SNAPSHOT deletes what it leaves out, with one exception: a client keeps its reasoning
// messages while a snapshot holds none of that role, and its activities likewise (@ag-ui/client
// 0.0.59 and 1.0.0, MESSAGES_SNAPSHOT in src/apply/default.ts). So a list that holds one of a role
// must hold all of that role, and one that lacks some must hold none.

// maxStayed bounds how many messages stay through all snapshots of a stream together: short
// snapshots may be many, and so may the messages that stay through each of them.
const maxStayed = 1 << 19

// stays reports whether a client keeps messages of the role through a snapshot that holds none.
func stays(role string) bool { return role == "reasoning" || role == "activity" }

// miss notes that the client has messages of the role that are not known.
func (t *Transcript) miss(role string) {
	if t.missing == nil {
		t.missing = map[string]bool{}
	}
	t.missing[role] = true
}

// staying returns the messages that the client keeps through a snapshot with this list, by the id
// of the message of the list that they stand behind; "" is its beginning.
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
			t.miss(m.role) // its contents are gone
		default:
			t.stayed++
			found[behind] = append(found[behind], m)
		}
	}
	for role := range roles {
		delete(t.missing, role) // the client has those of the list from here on
	}
	return found
}

// stay puts messages behind those that are known by now.
func (t *Transcript) stay(list []*message) {
	for _, m := range list {
		t.byID[m.id] = m
		t.keep(m)
		t.grow(len(m.json) + len(m.content) + len(m.encrypted))
	}
}

// applyMessages replaces the messages, as the client does. The calls stay known.
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
				delete(stay, m.ID) // a list may have an id twice
			}
		}
		return true
	})
	if t.tooLarge {
		t.ForgetMessages() // what came behind the one that was too much
	}
}

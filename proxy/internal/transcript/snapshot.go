package transcript

import (
	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// A client deletes the messages that a MESSAGES_SNAPSHOT lacks, with two exceptions: it keeps its
// reasoning messages if the snapshot has no reasoning message, and it keeps its activities if the
// snapshot has no activity (@ag-ui/client 0.0.59 and 1.0.0, MESSAGES_SNAPSHOT in
// src/apply/default.ts). So for each of the two roles, a snapshot must contain all messages of the
// role, or no message of the role.

// maxStayed limits how many messages are kept through snapshots, counted over all snapshots of a
// stream. A stream may have many short snapshots, and a client may keep many messages through each
// of them.
const maxStayed = 1 << 19

// isKept reports whether a client keeps its messages of the role if a snapshot has no message of
// that role.
func isKept(role string) bool { return role == "reasoning" || role == "activity" }

// noteUnknown records that the client has messages of the role whose contents are not known.
func (t *Transcript) noteUnknown(role string) {
	if t.missing == nil {
		t.missing = map[string]bool{}
	}
	t.missing[role] = true
}

// keptMessages returns the messages that the client keeps although a snapshot lacks them. list has
// the messages of the snapshot. The result has, for the id of each message in list, the kept
// messages that follow that message. Kept messages at the beginning have the key "".
func (t *Transcript) keptMessages(list gjson.Result) map[string][]*message {
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
		case !isKept(m.role) || roles[m.role]:
		case t.tooLarge, t.keptThroughSnapshots >= maxStayed:
			t.noteUnknown(m.role) // the content of m was dropped
		default:
			t.keptThroughSnapshots++
			found[behind] = append(found[behind], m)
		}
	}
	for role := range roles {
		// from now on the client has only those messages of the role that are in the list
		delete(t.missing, role)
	}
	return found
}

// appendKept appends messages that the client keeps although a snapshot lacks them.
func (t *Transcript) appendKept(list []*message) {
	for _, m := range list {
		t.byID[m.id] = m
		t.appendMessage(m)
		t.addContents(len(m.json) + len(m.content) + len(m.encrypted))
	}
}

// applyMessages replaces the messages by those of a MESSAGES_SNAPSHOT, as the client does. The
// calls stay known.
func (t *Transcript) applyMessages(ev agui.Event) {
	list := agui.View(ev.JSON).Get("messages")
	stay := t.keptMessages(list)
	t.messages, t.byID, t.size, t.tooLarge, t.messageSent = nil, map[string]*message{}, 0, false, true
	t.heldArguments, t.argumentsTooLarge, t.ids = 0, false, 0
	for _, c := range t.calls {
		c.message = nil
		t.ids += c.cost()
	}
	t.appendKept(stay[""])
	list.ForEach(func(_, m gjson.Result) bool {
		if m.IsObject() {
			// a copy, because the bytes of the event are reused
			m := agui.ParseMessage([]byte(m.Raw))
			t.addMessage(m)
			if m.ID != "" {
				t.appendKept(stay[m.ID])
				delete(stay, m.ID) // an id may occur twice in the list
			}
		}
		return true
	})
	if t.tooLarge {
		t.ForgetMessages() // drops also the messages after the one that exceeded the limit
	}
}

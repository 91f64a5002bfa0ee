package agui

import (
	"crypto/sha256"
	"encoding/hex"
)

// NewSeenMessage returns the SeenMessage of a message.
func NewSeenMessage(m Message) SeenMessage {
	s := SeenMessage{ID: m.ID}
	if m.Role == "user" || m.ID == "" {
		h := sha256.New()
		h.Write(append([]byte(m.Role), 0))
		h.Write(Canonical(bytesOf(View(m.JSON).Get("content"))))
		s.Digest = hex.EncodeToString(h.Sum(nil)[:12])
	}
	return s
}

// Identity returns a SeenMessage with the id of the message. If the message has no id, it has a
// digest of the content instead. Clients distinguish messages in the same way.
func Identity(m Message) SeenMessage {
	if m.ID != "" {
		return SeenMessage{ID: m.ID}
	}
	return NewSeenMessage(m)
}

// NewMessages returns the messages of list that are not in seenMessages. User messages are compared
// by id and content, and other messages by id.
func NewMessages(list []Message, seenMessages []SeenMessage) []Message {
	known := seenSet(seenMessages)
	var fresh []Message
	for _, m := range list {
		if !known[NewSeenMessage(m)] {
			fresh = append(fresh, m)
		}
	}
	return fresh
}

func seenSet(list []SeenMessage) map[SeenMessage]bool {
	set := make(map[SeenMessage]bool, len(list))
	for _, s := range list {
		set[s] = true
	}
	return set
}

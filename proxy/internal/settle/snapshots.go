package settle

import (
	"encoding/json"
	"slices"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/client"
)

// snapshots returns the messages and the state of a stream. extraMessages are the messages that the
// backend has not received. The list for the client includes them, and the messages for the record
// do not.
func snapshots(t Transcript, in *agui.RunInput, extraMessages []agui.Message) client.Snapshots {
	var s client.Snapshots
	s.StateSent, s.AnyState, s.MessagesSent = t.SnapshotsSent()
	s.List, s.IsComplete = t.Messages()
	if s.IsComplete && len(s.List) > 0 {
		kept := s.List
		if extraMessages := seenOf(extraMessages); extraMessages != nil {
			kept = slices.DeleteFunc(slices.Clone(kept), func(m json.RawMessage) bool { return extraMessages[agui.NewSeenMessage(agui.ParseMessage(m))] })
		}
		s.Messages = agui.List(kept)
	}
	if s.State, s.Stateful = t.State(); !s.Stateful {
		s.State = nil
	} else if sameBytes(s.State, in.State) {
		// a copy, because it shares memory with the body of the request, which is reused
		s.State = slices.Clone(s.State)
	}
	return s
}

// sameBytes reports whether two slices are the same bytes in memory. For slices that are only equal
// it returns false.
func sameBytes(a, b []byte) bool { return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0] }

// seenMessages returns the messages that count as known in the next request. The messages in the
// parameter received count as known, even if Holdpoint removed them from the request, because the
// client sends them again. The messages in the parameter extraMessages do not count as known: the
// backend has not received them, so they are new input in the next request.
func seenMessages(t Transcript, received, extraMessages []agui.Message) []agui.SeenMessage {
	list := t.SeenMessages()
	known := make(map[agui.SeenMessage]bool, len(list))
	for _, s := range list {
		known[s] = true
	}
	for _, m := range received {
		if s := agui.NewSeenMessage(m); !known[s] {
			known[s] = true
			list = append(list, s)
		}
	}
	if extraMessages := seenOf(extraMessages); extraMessages != nil {
		list = slices.DeleteFunc(list, func(s agui.SeenMessage) bool { return extraMessages[s] })
	}
	for n := range list {
		// a copy, because it shares memory with the request or with a message
		list[n].ID = strings.Clone(list[n].ID)
	}
	return list
}

// seenOf returns the messages in list as a set, nil if list is empty.
func seenOf(list []agui.Message) map[agui.SeenMessage]bool {
	if len(list) == 0 {
		return nil
	}
	set := make(map[agui.SeenMessage]bool, len(list))
	for _, m := range list {
		set[agui.NewSeenMessage(m)] = true
	}
	return set
}

package client

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// Snapshots are the messages and the state at the end of a stream, as far as they are known.
type Snapshots struct {
	List       []json.RawMessage // all messages
	IsComplete bool              // List is complete
	// Messages is the JSON list of the messages for the record, without those that were not sent to
	// the backend. It is nil if the messages are not known.
	Messages json.RawMessage
	State    json.RawMessage // nil if the state is not known
	Stateful bool            // the state is known

	// StateSent and MessagesSent are true if the backend has sent such a snapshot since the last
	// change. AnyState is true if the backend has sent any event about the state.
	StateSent, AnyState, MessagesSent bool
}

// HiddenSnapshots says which snapshots of a thread its client must not get.
type HiddenSnapshots struct{ State, Messages bool }

// An Omission says which snapshot a client does not get, and why.
type Omission int

// - StateWithheld, MessagesWithheld: the client must not get them, see HiddenSnapshots.
// - StateUnknown, MessagesUnknown: they were too large to be stored.
// - MessagesShareID: two messages have the same id, and a client would keep only the last of them.
const (
	StateWithheld Omission = iota
	StateUnknown
	MessagesWithheld
	MessagesUnknown
	MessagesShareID
)

// AppendSnapshots appends the snapshots that a client needs before an outcome. A snapshot is not
// needed if the backend has sent a complete one after the last change. A snapshot that is not
// completely known is omitted. hasUnsent is true if some messages were not sent to the backend. The
// client's snapshot includes these messages, but the record does not.
func AppendSnapshots(events []agui.Event, s *Snapshots, w HiddenSnapshots, hasUnsent bool) ([]agui.Event, []Omission) {
	var left []Omission
	switch {
	case w.State:
		left = append(left, StateWithheld)
	case s.Stateful && !s.StateSent && (s.AnyState || agui.HasMembers(s.State)):
		events = append(events, StateEvent(s.State))
	case !s.Stateful:
		left = append(left, StateUnknown)
	}
	switch {
	case w.Messages:
		left = append(left, MessagesWithheld)
	case !s.IsComplete:
		left = append(left, MessagesUnknown)
	case s.MessagesSent || len(s.List) == 0:
	case sharesID(s.List):
		left = append(left, MessagesShareID)
	case hasUnsent:
		events = append(events, agui.SnapshotEvent(agui.List(s.List)))
	default:
		events = append(events, agui.SnapshotEvent(s.Messages))
	}
	return events, left
}

// StateEvent returns a STATE_SNAPSHOT with the state. If state is nil, the snapshot is null.
func StateEvent(state json.RawMessage) agui.Event {
	if state == nil {
		state = json.RawMessage("null")
	}
	return agui.NewEvent(agui.MustMarshal(struct {
		Type     agui.Type       `json:"type"`
		Snapshot json.RawMessage `json:"snapshot"`
	}{agui.StateSnapshot, state}))
}

// sharesID reports whether two messages in the list have the same id. See ResultIDs for the
// consequence.
func sharesID(list []json.RawMessage) bool {
	known := make(map[string]bool, len(list))
	for _, m := range list {
		id := agui.View(m).Get("id").Str
		if known[id] && id != "" {
			return true
		}
		known[id] = true
	}
	return false
}

// BringsOneOf reports whether the request contains one of seenMessages. If there are no
// principals, a request proves only that its sender knows the thread id. So stored snapshots are
// sent only if the request contains a message of the run that they are from.
func (l Listener) BringsOneOf(seenMessages []agui.SeenMessage) bool {
	known := map[string]bool{}
	for _, s := range seenMessages {
		known[s.ID] = s.ID != ""
	}
	return slices.ContainsFunc(l.In.Messages, func(m agui.Message) bool { return known[m.ID] })
}

// StoredSnapshots returns the snapshot events for messages and a state from the record. A
// MESSAGES_SNAPSHOT deletes messages that it omits. So messages must be nil if they lack a message
// of the request.
func StoredSnapshots(messages []json.RawMessage, state json.RawMessage) []agui.Event {
	var events []agui.Event
	if agui.HasMembers(state) {
		events = append(events, StateEvent(state))
	}
	if len(messages) > 0 && !sharesID(messages) {
		events = append(events, agui.SnapshotEvent(agui.List(messages)))
	}
	return events
}

// WithMessages adds the messages in list to a MESSAGES_SNAPSHOT of the backend, because the backend
// has not received them. Otherwise the client would delete them, since the snapshot omits them, and
// would never send them again.
func WithMessages(ev agui.Event, list []agui.Message) agui.Event {
	if len(list) == 0 || !ev.Valid() {
		return ev
	}
	messages := ev.Get("messages")
	held := map[agui.SeenMessage]bool{}
	for _, m := range messages.Array() {
		held[agui.Identity(agui.ParseMessage([]byte(m.Raw)))] = true
	}
	// The messages are added in one edit, because a client may send very many small ones.
	var lacking []agui.Message
	for _, m := range list {
		if !held[agui.Identity(m)] {
			lacking = append(lacking, m)
		}
	}
	if len(lacking) == 0 {
		return ev
	}
	whole := []byte(agui.MessageList(lacking))
	if messages.IsArray() && len(held) > 0 {
		whole[0] = ','
		whole = append([]byte(strings.TrimSuffix(messages.Raw, "]")), whole...)
	}
	return ev.WithJSON(agui.SetKey(ev.JSON, "messages", whole))
}

// WithWithheld adds messages to a MESSAGES_SNAPSHOT that the dialect did not send to the backend
// (translate.Out.WithheldMessages), so that the client does not lose them. Each is inserted after
// the nearest earlier message that the snapshot contains.
func WithWithheld(ev agui.Event, withheld []translate.WithheldMessage) agui.Event {
	if len(withheld) == 0 || !ev.Valid() {
		return ev
	}
	var list []json.RawMessage
	at := map[string]int{}
	for _, m := range ev.Get("messages").Array() {
		if id := m.Get("id").Str; id != "" {
			at[id] = len(list)
		}
		list = append(list, json.RawMessage(m.Raw))
	}
	after := map[int][]json.RawMessage{} // maps an index to the messages to insert after it
	nearest, seen := -1, 0
	for _, w := range withheld {
		for _, id := range w.Before[seen:] {
			if n, ok := at[id]; ok {
				nearest = n
			}
		}
		seen = len(w.Before)
		n, there := at[w.Message.ID]
		switch {
		case there && !w.Whole:
			list[n] = agui.SetKey(list[n], "toolCalls", []byte(gjson.GetBytes(w.Message.JSON, "toolCalls").Raw))
		case !there && w.Whole:
			after[nearest] = append(after[nearest], json.RawMessage(w.Message.JSON))
			at[w.Message.ID] = nearest
		}
	}
	// without any message this is an empty list, not null
	whole := append([]json.RawMessage{}, after[-1]...)
	for n, m := range list {
		whole = append(append(whole, m), after[n]...)
	}
	return ev.WithJSON(agui.SetKey(ev.JSON, "messages", agui.MustMarshal(whole)))
}

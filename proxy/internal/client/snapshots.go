package client

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// Snapshots are what is known of messages and state at the end of a stream.
type Snapshots struct {
	List  []json.RawMessage // all messages
	Whole bool              // they are all known
	// Messages is the JSON list of the messages that the record keeps: those that did not go to the
	// backend are missing. nil: they are not known.
	Messages json.RawMessage
	State    json.RawMessage // nil if it is not known
	Stateful bool            // it is known

	// StateSent and MessagesSent report that the backend has sent a snapshot since the last change.
	// AnyState reports that it has sent anything of the state.
	StateSent, AnyState, MessagesSent bool
}

// HiddenSnapshots names the snapshots of a thread that its client must not be told.
type HiddenSnapshots struct{ State, Messages bool }

// An Omission is a snapshot that a client does not get, and why.
type Omission int

// StateWithheld and MessagesWithheld: see Withheld. StateUnknown and MessagesUnknown: there were
// too many bytes to keep them. MessagesShareID: two messages have one id, and a client would keep
// the last one only.
const (
	StateWithheld Omission = iota
	StateUnknown
	MessagesWithheld
	MessagesUnknown
	MessagesShareID
)

// AppendSnapshots appends the snapshots that a client needs before an outcome. The backend's own
// are enough where it sent them whole after its last change. A snapshot that is not known whole is
// left out. untaken reports that messages did not go to the backend: the client keeps them, the
// record does not.
func AppendSnapshots(events []agui.Event, s *Snapshots, w HiddenSnapshots, untaken bool) ([]agui.Event, []Omission) {
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
	case !s.Whole:
		left = append(left, MessagesUnknown)
	case s.MessagesSent || len(s.List) == 0:
	case sharesID(s.List):
		left = append(left, MessagesShareID)
	case untaken:
		events = append(events, agui.SnapshotEvent(agui.List(s.List)))
	default:
		events = append(events, agui.SnapshotEvent(s.Messages))
	}
	return events, left
}

// StateEvent returns a STATE_SNAPSHOT. A nil state is null.
func StateEvent(state json.RawMessage) agui.Event {
	if state == nil {
		state = json.RawMessage("null")
	}
	return agui.NewEvent(agui.MustMarshal(struct {
		Type     agui.Type       `json:"type"`
		Snapshot json.RawMessage `json:"snapshot"`
	}{agui.StateSnapshot, state}))
}

// sharesID reports whether two messages have one id, see ResultIDs.
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

// BringsOneOf reports whether the request has one of the messages. Without principals a request
// shows no more than the thread's id, so stored snapshots go only to a request that has a message
// of that run.
func (l Listener) BringsOneOf(seen []agui.SeenMessage) bool {
	known := map[string]bool{}
	for _, s := range seen {
		known[s.ID] = s.ID != ""
	}
	return slices.ContainsFunc(l.In.Messages, func(m agui.Message) bool { return known[m.ID] })
}

// StoredSnapshots returns snapshots out of the record. messages are nil if they lack a message of
// the request, because a MESSAGES_SNAPSHOT deletes what it leaves out.
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

// WithMessages returns a MESSAGES_SNAPSHOT of the backend with messages that did not go there. A
// client deletes what a snapshot leaves out, and they would never come again.
func WithMessages(ev agui.Event, list []agui.Message) agui.Event {
	if len(list) == 0 || !ev.Valid() {
		return ev
	}
	messages := ev.Get("messages")
	held := map[agui.SeenMessage]bool{}
	for _, m := range messages.Array() {
		held[agui.Identity(agui.ParseMessage([]byte(m.Raw)))] = true
	}
	// All at once: a client may bring very many small ones.
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
	return ev.With(agui.SetKey(ev.JSON, "messages", whole))
}

// WithWithheld returns a MESSAGES_SNAPSHOT with what the dialect kept from the backend
// (translate.Out.Withheld). A client loses nothing that Holdpoint keeps from a model. A message
// follows the nearest one before it that the snapshot has.
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
	after := map[int][]json.RawMessage{} // what is put in, by the place in the list that it follows
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
	whole := append([]json.RawMessage{}, after[-1]...) // of none an empty list, not null
	for n, m := range list {
		whole = append(append(whole, m), after[n]...)
	}
	return ev.With(agui.SetKey(ev.JSON, "messages", agui.MustMarshal(whole)))
}

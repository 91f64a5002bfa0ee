package proxy

import (
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// messagesBesideAnswers are the messages that came beside the answers of a resume, or that the
// backend left aside since it waited already. Those that an exchange takes to the backend leave the
// list. The rest does not count as known: it comes again as new input.
type messagesBesideAnswers []agui.Message

// takenBy leaves those that an exchange does not take.
func (b *messagesBesideAnswers) takenBy(out *translate.Out) {
	if out.TakesNew && len(*b) > 0 {
		*b = out.Left
	}
}

// seen is the set of them, nil if there are none.
func (b messagesBesideAnswers) seen() map[agui.SeenMessage]bool {
	if len(b) == 0 {
		return nil
	}
	set := make(map[agui.SeenMessage]bool, len(b))
	for _, m := range b {
		set[agui.See(m)] = true
	}
	return set
}

// addedTo is a MESSAGES_SNAPSHOT of the backend with them. A client deletes what a snapshot leaves
// out, and they would never come again.
func (b messagesBesideAnswers) addedTo(ev agui.Event) agui.Event {
	if len(b) == 0 || !ev.Valid() {
		return ev
	}
	messages := ev.Get("messages")
	held := map[agui.SeenMessage]bool{}
	for _, m := range messages.Array() {
		held[identity(agui.ParseMessage([]byte(m.Raw)))] = true
	}
	// All at once: a client may bring very many small ones.
	var lacking []agui.Message
	for _, m := range b {
		if !held[identity(m)] {
			lacking = append(lacking, m)
		}
	}
	if len(lacking) == 0 {
		return ev
	}
	list := []byte(agui.MessageList(lacking))
	if messages.IsArray() && len(held) > 0 {
		list[0] = ','
		list = append([]byte(strings.TrimSuffix(messages.Raw, "]")), list...)
	}
	return ev.With(agui.SetKey(ev.JSON, "messages", list))
}

// identity is what a client tells messages apart by: the id, or the content if there is no id.
func identity(m agui.Message) agui.SeenMessage {
	if m.ID != "" {
		return agui.SeenMessage{ID: m.ID}
	}
	return agui.See(m)
}

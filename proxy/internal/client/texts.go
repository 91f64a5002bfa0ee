package client

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/words"
)

func textStart(id, role string) agui.Event {
	return agui.MakeEvent(agui.TextStart, "messageId", id, "role", role)
}

func textContent(id, text string) agui.Event {
	return agui.MakeEvent(agui.TextContent, "messageId", id, "delta", text)
}

func textEnd(id string) agui.Event { return agui.MakeEvent(agui.TextEnd, "messageId", id) }

// textMessage returns the events of a message of the assistant with the given text.
func textMessage(id, text string) []agui.Event {
	return []agui.Event{textStart(id, "assistant"), textContent(id, text), textEnd(id)}
}

// textID returns the id of the message that shows the pause as a text. It contains the id of the
// first question. So the chat shows which question was asked, even after the record is gone.
func textID(p *agui.Pause) string { return words.QuestionID(p.Interrupts[0].ID) }

// maxShownArguments bounds how many bytes of a call's arguments a text shows.
const maxShownArguments = 2000

// questionText returns the events that show a pause as a text. The text says what the question is,
// and where it can be answered. When they are sent, no message of the stream may be open.
func questionText(p *agui.Pause) []agui.Event {
	var text strings.Builder
	for n := range p.Interrupts {
		asked := &p.Interrupts[n]
		message := gjson.GetBytes(asked.Object, "message").Str
		if message != "" {
			fmt.Fprintf(&text, "%s\n", message)
		}
		for _, call := range asked.Calls {
			if call.Name != "" {
				arguments := call.Args
				if len(arguments) > maxShownArguments {
					arguments = strings.ToValidUTF8(arguments[:maxShownArguments], "") + "..."
				}
				fmt.Fprintf(&text, "The agent asks to call the tool %s with %s.\n", call.Name, arguments)
			}
		}
		if message == "" && len(asked.Calls) == 0 {
			fmt.Fprintf(&text, "The agent waits for an answer (%s).\n", asked.Reason())
		}
	}
	text.WriteString("This program cannot answer that. It can be answered at the desk, or in another client of this conversation. " +
		"If it is not answered before your next message, that message cancels it.")
	return textMessage(textID(p), text.String())
}

// WasToldByText reports whether the client was shown the pause as a text and cannot answer it in
// any form. A new message of the person at this client gives up such a pause, as a cancel does.
func (l Listener) WasToldByText(p *agui.Pause) bool {
	if l.formOf(p) != byText {
		return false
	}
	return p.ByText || slices.ContainsFunc(l.In.Messages, func(m agui.Message) bool { return m.ID == textID(p) })
}

// QuestionsOfTexts returns the ids of the questions that are shown as texts in the messages of the
// request.
func (l Listener) QuestionsOfTexts() []string {
	var ids []string
	for n := range l.ClientMessages {
		if id, is := words.QuestionOf(l.ClientMessages[n].ID); is {
			ids = append(ids, id)
		}
	}
	return ids
}

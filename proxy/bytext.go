package proxy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/clients"
	"holdpoint/proxy/internal/words"
	"holdpoint/translate"
)

// A client may read no form in which a pause can be told: LangGraph asks by a CUSTOM event, at
// which the in-tree client of .NET throws, and AGUI.Server tells no question at all in a run with
// declared tools. Such a pause is told as a text. It names what is asked, and where it can be
// answered. The person's next message there gives it up, as a cancel does.

// A telling is how a client is told of a pause.
type telling int

// byOutcome: the interrupt outcome, perhaps with a CUSTOM event beside it. byOwnForm: as the
// backend tells it. byText: as a text, because the client can answer neither of the others.
const (
	byOutcome telling = iota
	byOwnForm
	byText
)

// tellingOf returns how the client is told the pause.
func (r *run) tellingOf(p *agui.Pause) telling {
	line := r.request.client
	own := r.show == translate.ShowNative && p.NativeFinish != nil // nil: it was opened in another form
	reads := line == nil && !own || line.ReadsOutcome()
	switch {
	case own && (asksByOutcome(p) && (line == nil || reads) || asksByEvent(p) && line.Reads(agui.Custom) || asksByCalls(p, line)):
		return byOwnForm
	case reads || !own && line.Reads(agui.Custom):
		return byOutcome
	}
	return byText
}

// asksByOutcome reports whether the backend's own terminal event has the questions.
func asksByOutcome(p *agui.Pause) bool {
	finish := agui.View(p.NativeFinish)
	outcome := finish.Get("outcome")
	return outcome.Str == "interrupt" || outcome.Get("type").Str == "interrupt" || finish.Get("interrupt").Exists() || finish.Get("interrupts").Exists()
}

// asksByEvent reports whether the backend announces the pause by an event of its own.
func asksByEvent(p *agui.Pause) bool {
	return slices.ContainsFunc(p.Native, func(own json.RawMessage) bool { return agui.PeekType(own) == agui.Custom })
}

// asksByCalls reports whether the backend asks each question by a call, and the client's programs
// answer such calls by messages.
func asksByCalls(p *agui.Pause, line *clients.Line) bool {
	calls := false
	for _, own := range p.Native {
		tool := "" // of the call that begins here
		switch agui.PeekType(own) {
		case agui.CallStart, agui.CallChunk:
			tool = agui.View(own).Get("toolCallName").Str
		}
		if tool == "" {
			continue
		}
		calls = true
		if !line.AnswersCalls(tool) {
			return false
		}
	}
	return calls && !slices.ContainsFunc(p.Interrupts, func(i agui.Interrupt) bool { return len(i.Keys) == 0 })
}

// textID returns the id of the message that tells the pause as a text. It names the first question,
// so that a chat shows what was asked after the record is gone.
func textID(p *agui.Pause) string { return words.QuestionID(p.Interrupts[0].ID) }

// namedByText returns the questions that the request's texts name, and the record does not know.
func (r *run) namedByText() []string {
	var ids []string
	for n := range r.request.input.Messages {
		id, is := words.QuestionOf(r.request.input.Messages[n].ID)
		if is && r.record.ResultOf(id) == nil && (r.record.Pause == nil || r.record.Pause.Interrupt(id) == nil) {
			ids = append(ids, id)
		}
	}
	return ids
}

// maxShownArguments is how many bytes of a call's arguments such a text shows.
const maxShownArguments = 2000

// questionText returns the events that tell a pause as a text, behind the ends of what is open in
// the stream.
func (r *run) questionText(p *agui.Pause) []agui.Event {
	var events []agui.Event
	if r.transcript != nil {
		events = r.transcript.Unclosed(false)
	}
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
	return append(events, textMessage(textID(p), text.String())...)
}

// givesUp reports whether a new message of the person gives the open pause up: the client was told
// it as a text.
func (r *run) givesUp() bool {
	p := r.record.Pause
	if p == nil || r.readFor.carries || r.tellingOf(p) != byText {
		return false
	}
	return p.ByText || slices.ContainsFunc(r.in.Messages, func(m agui.Message) bool { return m.ID == textID(p) })
}

package phrases

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// maxMessage is the maximum size in bytes of the message of an interrupt. A longer text is cut
// there; the conversation has the whole text.
const maxMessage = 4 << 10

// plainEnd reports whether the event ends a run that is complete. It does if it has no outcome, or
// the outcome success without pending tool calls.
func plainEnd(ev agui.Event) bool {
	if !ev.Valid() {
		return false
	}
	outcome := ev.Get("outcome")
	switch {
	case !outcome.Exists(), outcome.Type == gjson.Null:
		return true
	case !outcome.IsObject():
		return false
	}
	return outcome.Get("type").Str == "success" && len(outcome.Get("pendingToolCallIds").Array()) == 0
}

// An askingText is a text of the assistant that contains one of the phrases.
type askingText struct {
	id, text, phrase string
	at               int // the offset of the phrase in bytes
}

// lastText returns the assistant's last text after the user's last message, if the text contains a
// phrase. It returns nil if the text contains none, or if some messages of the conversation are
// unknown.
func (d *Dialect) lastText(t agui.Transcript) *askingText {
	if t == nil {
		return nil
	}
	messages, ok := t.Messages()
	if !ok {
		return nil
	}
	for _, raw := range slices.Backward(messages) {
		m := agui.View(raw)
		switch m.Get("role").Str {
		case "user":
			return nil
		case "assistant":
			if text := m.Get("content"); text.Type == gjson.String && strings.TrimSpace(text.Str) != "" {
				a := askingText{id: strings.Clone(m.Get("id").Str), text: strings.Clone(text.Str)}
				a.phrase, a.at = d.phrases.firstIn(a.text)
				if a.phrase == "" {
					return nil
				}
				return &a
			}
		}
	}
	return nil
}

// interrupt returns the question as an interrupt for the client.
func (a *askingText) interrupt() agui.Interrupt {
	phrase := kit.AppendText([]byte{'{'}, "phrase", a.phrase)
	return agui.Interrupt{Native: a.id, Object: kit.Question{
		Reason: "confirmation", Message: a.cutToBounds(), Schema: kit.ApprovalSchema, Metadata: `{"` + Name + `":` + string(phrase) + `}}`,
	}.Object()}
}

// cutToBounds returns the text, cut to maxMessage bytes. From a long text it returns the end, where
// the question usually is, or the part that begins with the phrase if the phrase comes earlier.
func (a *askingText) cutToBounds() string {
	if len(a.text) <= maxMessage {
		return a.text
	}
	// ToLower may have moved the offset by some bytes, which does not matter here.
	from := min(a.at, len(a.text)-maxMessage)
	cut := strings.ToValidUTF8(a.text[from:from+maxMessage], "")
	if from > 0 {
		cut = "…" + cut
	}
	if from+maxMessage < len(a.text) {
		cut += "…"
	}
	return cut
}

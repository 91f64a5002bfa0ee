package api

import (
	"context"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/desk/marks"
	"holdpoint/internal/desk/policy"
	"holdpoint/store"
)

// Limits of a conversation that the desk shows: the number of its last messages, and the length of
// each text in bytes.
const (
	maxTurns    = 10
	maxTurnText = 2 << 10
)

// A turn is a message of a conversation that has text. Tool calls are left out, because the calls
// that wait are already in the question.
type turn struct {
	Role        string       `json:"role"`
	Text        string       `json:"text"`
	Marks       []marks.Mark `json:"marks,omitempty"`
	IsShortened bool         `json:"cut,omitempty"` // Text is only the beginning of the message's text
}

// addConversation adds the last messages of the conversation to an open approval, if the caller may
// read them. If the messages are unknown or cannot be read, it adds nothing.
func (d *Desk) addConversation(ctx context.Context, key store.Key, rec *store.Record, a *approval) {
	p := rec.Pause
	if p == nil || a.State == stateEnded || p.SnapshotBytes == 0 || !callerIn(ctx).rights(scopeOf(rec)).Has(policy.Conversation) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, noteTimeout)
	defer cancel()
	shown, err := d.opts.Store.Snapshots(ctx, key, p.ID, store.AtPause)
	if err != nil {
		d.log.Debug("desk: the conversation cannot be read", "pause", p.ID, "err", err)
		return
	}
	a.Conversation = turns(shown.Messages)
}

// turns returns the last messages that have text, oldest first, at most maxTurns.
func turns(messages []byte) (list []turn) {
	all := gjson.ParseBytes(messages)
	if !all.IsArray() {
		return nil
	}
	var last []gjson.Result // the last messages with text, at most maxTurns
	all.ForEach(func(_, m gjson.Result) bool {
		if textOf(m) == "" {
			return true
		}
		if len(last) == maxTurns {
			last = slices.Delete(last, 0, 1)
		}
		last = append(last, m)
		return true
	})
	for _, m := range last {
		t := turn{Role: m.Get("role").Str, Text: textOf(m)}
		if len(t.Text) > maxTurnText {
			t.Text, t.IsShortened = t.Text[:maxTurnText], true
		}
		if t.Text = strings.ToValidUTF8(t.Text, ""); t.IsShortened {
			t.Text = strings.TrimRight(t.Text, "\uFFFD")
		}
		t.Marks = marks.Find(t.Text, marks.Text)
		list = append(list, t)
	}
	return list
}

// textOf returns the text of a message: its content, or, if the content is a list, its text parts.
func textOf(m gjson.Result) string {
	content := m.Get("content")
	if !content.IsArray() {
		return content.Str
	}
	var texts []string
	content.ForEach(func(_, part gjson.Result) bool {
		if text := part.Get("text"); part.Get("type").Str == "text" && text.Str != "" {
			texts = append(texts, text.Str)
		}
		return true
	})
	return strings.Join(texts, "\n")
}

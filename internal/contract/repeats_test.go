package contract

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"holdpoint/internal/agui"
)

// repeatsNaively goes through all questions and entries for each message.
func repeatsNaively(m agui.Message, p *agui.Pause, entries []agui.ResumeEntry) bool {
	if m.Role != "tool" || m.ToolCallID == "" {
		return false
	}
	content := gjson.GetBytes(m.JSON, "content")
	if p == nil {
		return LooksLikeAnswer(content)
	}
	says := func(id string) bool {
		return content.Type == gjson.String && slices.ContainsFunc(entries, func(e agui.ResumeEntry) bool {
			return e.InterruptID == id && len(e.Payload) > 0 &&
				string(agui.Canonical(json.RawMessage(content.Str))) == string(agui.Canonical(e.Payload))
		})
	}
	return slices.ContainsFunc(p.Interrupts, func(i agui.Interrupt) bool {
		return i.ToolCallID() == m.ToolCallID && (LooksLikeAnswer(content) || says(i.ID))
	})
}

func TestRepeatedAnswersAreFoundWithoutASearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		one := func(what string, of ...string) string { return rapid.SampledFrom(of).Draw(t, what) }
		p := &agui.Pause{}
		for range rapid.IntRange(0, 4).Draw(t, "interrupts") {
			p.Interrupts = append(p.Interrupts, agui.Interrupt{
				ID: one("id", "a", "b", "c"), Object: fmt.Appendf(nil, `{"toolCallId":%q}`, one("call", "", "c1", "c2")),
			})
		}
		if rapid.IntRange(0, 9).Draw(t, "unknown") == 0 {
			p = nil
		}
		var entries []agui.ResumeEntry
		for _, id := range []string{"a", "b", "c"} { // the same id twice is no request
			if payload := one("payload", "none", "", `{"x": 1,"y":2}`, `"words"`, `true`); payload != "none" {
				entries = append(entries, agui.ResumeEntry{InterruptID: id, Status: agui.Resolved, Payload: json.RawMessage(payload)})
			}
		}
		r := RepeatsOf(p, entries)
		for range 5 {
			m := agui.ParseMessage(fmt.Appendf(nil, `{"role":%q,"toolCallId":%q,"content":%s}`, one("role", "tool", "user"), one("about", "", "c1", "c2", "c3"),
				one("content", `"{\"y\":2,\"x\":1}"`, `"\"words\""`, `"words"`, `"true"`, `"{\"approved\":true}"`, `7`, `""`)))
			if got, want := r.Has(m), repeatsNaively(m, p, entries); got != want {
				t.Fatalf("%s: %v, want %v", m.JSON, got, want)
			}
		}
	})
}

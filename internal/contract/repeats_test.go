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

// repeatsNaively reports whether the message m repeats an answer. It compares m with every question
// and every entry.
func repeatsNaively(m agui.Message, p *agui.Pause, entries []agui.ResumeEntry) bool {
	if m.Role != "tool" || m.ToolCallID == "" {
		return false
	}
	content := gjson.GetBytes(m.JSON, "content")
	if p == nil {
		return words{}.decide(content)
	}
	says := func(id string) bool {
		return content.Type == gjson.String && slices.ContainsFunc(entries, func(e agui.ResumeEntry) bool {
			return e.InterruptID == id && len(e.Payload) > 0 &&
				string(agui.Canonical(json.RawMessage(content.Str))) == string(agui.Canonical(e.Payload))
		})
	}
	return slices.ContainsFunc(p.Interrupts, func(i agui.Interrupt) bool {
		return i.ToolCallID() == m.ToolCallID && (words{}.decide(content) || says(i.ID))
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
		// a request cannot have two entries with the same id
		for _, id := range []string{"a", "b", "c"} {
			if payload := one("payload", "none", "", `{"x": 1,"y":2}`, `"words"`, `true`); payload != "none" {
				entries = append(entries, agui.ResumeEntry{InterruptID: id, Status: agui.Resolved, Payload: json.RawMessage(payload)})
			}
		}
		r := RepeatsOf(p, entries)
		for range 5 {
			m := agui.ParseMessage(fmt.Appendf(nil, `{"role":%q,"toolCallId":%q,"content":%s}`, one("role", "tool", "user"), one("about", "", "c1", "c2", "c3"),
				one("content", `"{\"y\":2,\"x\":1}"`, `"\"words\""`, `"words"`, `"true"`, `"{\"approved\":true}"`, `7`, `""`)))
			if got, want := r.IsRepeat(m), repeatsNaively(m, p, entries); got != want {
				t.Fatalf("%s: %v, want %v", m.JSON, got, want)
			}
		}
	})
}

// TestRepeatsInTheQuestionsOwnWords: a tool message for the call of a question is an answer if its
// content is the question's own value for yes or no. If the record does not have these values, the
// usual forms of a yes and a no count.
func TestRepeatsInTheQuestionsOwnWords(t *testing.T) {
	question := func(call, yes, no string) agui.Interrupt {
		return agui.Interrupt{ID: call, Object: fmt.Appendf(nil, `{"toolCallId":%q}`, call), Yes: json.RawMessage(yes), No: json.RawMessage(no)}
	}
	p := &agui.Pause{Interrupts: []agui.Interrupt{
		question("confirms", `{"confirmed":true}`, `{"confirmed":false}`),
		question("chooses", `"allow"`, `"deny"`),
		question("lists", `{"decisions":[{"type":"approve"}]}`, `{"decisions":[{"type":"reject"}]}`),
		question("free", "", ""),
	}}
	for name, c := range map[string]struct {
		call, content string
		repeats       bool // whether it is an answer to a question of p
		forgotten     bool // whether it is an answer if the question is unknown
	}{
		"a yes in its own word":       {"confirms", `{"confirmed":true}`, true, false},
		"a no with more in it":        {"confirms", `{"why":"no","confirmed":false}`, true, false},
		"its word in another role":    {"confirms", `{"confirmed":"at noon"}`, false, false},
		"another question's word":     {"free", `{"confirmed":true}`, false, false},
		"the usual word":              {"confirms", `{"approved":true}`, true, true},
		"the usual word, in words":    {"free", `{"approved":"by Anna"}`, false, false},
		"a plain word":                {"chooses", `"deny"`, true, false},
		"no plain word":               {"chooses", `"denied: no such file"`, false, false},
		"a whole list":                {"lists", `{"decisions": [{"type": "approve"}]}`, true, false},
		"another list":                {"lists", `{"decisions":[]}`, false, false},
		"the protocol's own word":     {"free", `{"status":"cancelled"}`, true, true},
		"the protocol's word, beside": {"free", `{"status":"cancelled","by":"x"}`, false, false},
		"a result":                    {"confirms", `{"sent":true}`, false, false},
		"of no call of its":           {"other", `{"approved":true}`, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			m := agui.ParseMessage(fmt.Appendf(nil, `{"role":"tool","toolCallId":%q,"content":%q}`, c.call, c.content))
			if got := RepeatsOf(p, nil).IsRepeat(m); got != c.repeats {
				t.Errorf("of the pause: %v", got)
			}
			if got := RepeatsOf(nil, nil).IsRepeat(m); got != c.forgotten {
				t.Errorf("of nothing that is known: %v", got)
			}
			if got := RepeatsIn(p).IsRepeat(m); got != (c.repeats || c.forgotten) {
				t.Errorf("in a history: %v", got)
			}
		})
	}
}

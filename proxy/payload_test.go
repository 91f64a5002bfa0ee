package proxy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

// repeatsNaively goes through all questions and entries for each message.
func repeatsNaively(m agui.Message, p *agui.Pause, entries []agui.ResumeEntry) bool {
	if m.Role != "tool" || m.ToolCallID == "" {
		return false
	}
	content := gjson.GetBytes(m.JSON, "content")
	if p == nil {
		return looksLikeAnswer(content)
	}
	says := func(id string) bool {
		return content.Type == gjson.String && slices.ContainsFunc(entries, func(e agui.ResumeEntry) bool {
			return e.InterruptID == id && len(e.Payload) > 0 &&
				string(agui.Canonical(json.RawMessage(content.Str))) == string(agui.Canonical(e.Payload))
		})
	}
	return slices.ContainsFunc(p.Interrupts, func(i agui.Interrupt) bool {
		return i.ToolCallID() == m.ToolCallID && (looksLikeAnswer(content) || says(i.ID))
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
		r := repeatsOf(p, entries)
		for range 5 {
			m := agui.ParseMessage(fmt.Appendf(nil, `{"role":%q,"toolCallId":%q,"content":%s}`, one("role", "tool", "user"), one("about", "", "c1", "c2", "c3"),
				one("content", `"{\"y\":2,\"x\":1}"`, `"\"words\""`, `"words"`, `"true"`, `"{\"approved\":true}"`, `7`, `""`)))
			if got, want := r.has(m), repeatsNaively(m, p, entries); got != want {
				t.Fatalf("%s: %v, want %v", m.JSON, got, want)
			}
		}
	})
}

// keptNaively is the digest of the answer with which the same question was resumed last, if that failed; else "".
func keptNaively(results []*store.Result, i agui.Interrupt) string {
	for _, r := range results {
		if r.Pause == nil || r.Digest == "" {
			continue
		}
		for _, old := range r.Pause.Interrupts {
			if old.Native != i.Native || old.Question != i.Question {
				continue
			}
			if !r.Failed && r.How != store.Doubtful && !isError(r.Finish) {
				return ""
			}
			for line := range strings.SplitSeq(r.Digest, "\n") {
				if id, digest, _ := strings.Cut(line, " "); id == old.ID {
					return digest
				}
			}
		}
	}
	return ""
}

func TestKeptAnswersAreFoundWithoutASearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		one := func(what string, of ...string) string { return rapid.SampledFrom(of).Draw(t, what) }
		var results []*store.Result
		for range rapid.IntRange(0, 4).Draw(t, "results") {
			r := &store.Result{How: store.How(one("how", string(store.Finished), string(store.Doubtful))), Failed: rapid.Bool().Draw(t, "failed")}
			if rapid.IntRange(0, 4).Draw(t, "tombstone") > 0 {
				r.Pause = &agui.Pause{}
				for range rapid.IntRange(1, 3).Draw(t, "interrupts") {
					i := agui.Interrupt{ID: one("id", "a", "b", "c"), Native: one("native", "n", "m"), Question: one("question", "q", "r")}
					r.Pause.Interrupts = append(r.Pause.Interrupts, i)
					if rapid.Bool().Draw(t, "answered") {
						if r.Digest != "" {
							r.Digest += "\n"
						}
						r.Digest += i.ID + " " + one("digest", "1", "2")
					}
				}
			}
			results = append(results, r)
		}
		q := &question{record: store.Record{Results: results}}
		kept := q.keptAnswers()
		for _, native := range []string{"n", "m"} {
			for _, text := range []string{"q", "r"} {
				if got, want := kept[asked{native, text}], keptNaively(results, agui.Interrupt{Native: native, Question: text}); got != want {
					t.Fatalf("%s %s: %q, want %q", native, text, got, want)
				}
			}
		}
	})
}

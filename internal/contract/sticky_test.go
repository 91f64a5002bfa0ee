package contract

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

// keptNaively returns the digest of the last answer to the same question, if the run with that
// answer failed. Otherwise it returns "".
func keptNaively(results []*store.Result, i agui.Interrupt) string {
	for _, r := range results {
		if r.Pause == nil || r.Digest == "" {
			continue
		}
		for _, old := range r.Pause.Interrupts {
			if old.Native != i.Native || old.Question != i.Question {
				continue
			}
			if !r.Failed && r.EndKind != store.Doubtful && !isError(r.Finish) {
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
			r := &store.Result{EndKind: store.EndKind(one("how", string(store.Finished), string(store.Doubtful))), Failed: rapid.Bool().Draw(t, "failed")}
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
		q := &Case{Record: store.Record{Results: results}}
		kept := q.keptAnswers()
		for _, native := range []string{"n", "m"} {
			for _, text := range []string{"q", "r"} {
				if got, want := kept[questionIdentity{native, text}], keptNaively(results, agui.Interrupt{Native: native, Question: text}); got != want {
					t.Fatalf("%s %s: %q, want %q", native, text, got, want)
				}
			}
		}
	})
}

package proxy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"holdpoint/internal/agui"
	golden "holdpoint/internal/scenario"
	"holdpoint/proxy"
	"holdpoint/store"
	"holdpoint/translate/auto"
	"holdpoint/translate/dialects"
)

// otherCalls are functions that change a call in the messages of a resume. The changed call is no
// longer the call in question. The parameter of each function is the JSON of a call that the open
// pause asks about.
var otherCalls = map[string]func(call string) string{
	"other arguments": func(call string) string { return set(call, "function.arguments", `"{\"path\":\"/etc/passwd\"}"`) },
	"another tool":    func(call string) string { return set(call, "function.name", `"wipe_disk"`) },
	"in other spellings": func(call string) string {
		return strings.Replace(strings.Replace(set(call, "function.name", `"wipe_disk"`), `"arguments":`, `"Arguments":`, 1), `"name":`, `"NA_ME":`, 1)
	},
	"the keys in escapes": func(call string) string {
		return strings.Replace(set(call, "function.name", `"wipe_disk"`), `"name"`, `"n\u0061me"`, 1)
	},
}

func set(json, path, value string) string {
	out, err := sjson.SetRaw(json, path, value)
	if err != nil {
		panic(err)
	}
	return out
}

// TestGoldenCallsAreAsAsked plays every resume of every scenario again, with changed calls in its
// messages. The backend and the client must get the same as with the original calls.
func TestGoldenCallsAreAsAsked(t *testing.T) {
	if proxy.Brief() {
		t.Skip("make poison has it; the race detector sees nothing here that TestGolden does not show it")
	}
	failing := knownFailing(t)
	tried := map[string]int{}
	for _, s := range scenarios(t) {
		if _, known := failing[s.Name]; known {
			continue
		}
		for name, other := range otherCalls {
			n := playOther(t, s, name, other)
			tried[strings.SplitN(s.Name, "/", 2)[0]] += n
		}
	}
	t.Log("resumes with other calls, by folder:", tried)
	for _, name := range dialects.All().Names() {
		// Strands' servers ask about a call that is not in the messages of the client, so they have
		// no such resume.
		if name != auto.Name && tried[name] == 0 && asksAboutCalls(t, name) {
			t.Errorf("%s: no resume of its scenarios has a call in its messages", name)
		}
	}
}

// asksAboutCalls reports whether a question in the dialect's scenarios names a call.
func asksAboutCalls(t *testing.T, dialect string) bool {
	t.Helper()
	list, err := golden.List(testdata, dialect)
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(list, func(s *golden.Scenario) bool {
		for turn := 1; turn <= s.Turns; turn++ {
			for line := range strings.Lines(string(s.Part(golden.Want(turn)))) {
				if gjson.Get(strings.TrimPrefix(line, "data: "), "outcome.interrupts.#.toolCallId").Get("0").Exists() {
					return true
				}
			}
		}
		return false
	})
}

// playOther plays a scenario twice at the same time. In one of the two, the function other changes
// the calls in the resumes. playOther returns the number of turns in which a call was changed.
func playOther(t *testing.T, s scenario, name string, other func(string) string) (changed int) {
	t.Helper()
	honest, hostile := newStage(t, s, delivery{}), newStage(t, s, delivery{})
	for turn := 1; turn <= s.Turns; turn++ {
		body := s.request(turn)
		changes := 0
		instead := body
		if asked := hostile.asked(); len(asked) > 0 {
			instead, changes = withOther(body, asked, other)
		}
		honest.begin(turn)
		hostile.begin(turn)
		want, got := honest.post(body), hostile.post(instead)
		if changes == 0 || len(honest.backend.sent) == 0 {
			if !bytes.Equal(got, want) {
				return changed // an earlier change made the streams differ
			}
			continue
		}
		changed++
		if !bytes.Equal(got, want) {
			t.Errorf("%s, turn %d, %s: told otherwise\n%s", s.Name, turn, name, firstDifference(string(got), string(want)))
		}
		if !slices.EqualFunc(hostile.backend.sent, honest.backend.sent, sameJSON) {
			t.Errorf("%s, turn %d, %s: the backend gets\n%s\nand of the honest client\n%s", s.Name, turn, name, hostile.backend.sent, honest.backend.sent)
		}
	}
	return changed
}

// asked returns the ids of the calls that the open pause asks about.
func (st *stage) asked() map[string]bool {
	ids := map[string]bool{}
	if st.kept.key == "" {
		return ids
	}
	rec, err := st.kept.Store.Load(context.Background(), st.kept.key, "")
	if err != nil || rec.State != store.Open {
		return ids
	}
	for _, i := range rec.Pause.Interrupts {
		for _, c := range i.Calls {
			if c.ID != "" && !c.ArgumentsUnknown {
				ids[c.ID] = true
			}
		}
	}
	return ids
}

// withOther replaces each call in body whose id is in ids by what other returns for the call.
// changes is the number of replaced calls.
func withOther(body []byte, ids map[string]bool, other func(string) string) (out []byte, changes int) {
	var compact bytes.Buffer
	if json.Compact(&compact, body) != nil {
		return body, 0
	}
	text := compact.String()
	list := agui.CallCopies(text, func(id string) bool { return ids[id] })
	for _, c := range slices.Backward(list) {
		text = text[:c.Begin] + other(text[c.Begin:c.End]) + text[c.End:]
	}
	return []byte(text), len(list)
}

// sameJSON reports whether every parser reads the same from two bodies.
func sameJSON(a, b []byte) bool { return bytes.Equal(agui.Canonical(a), agui.Canonical(b)) }

package history_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/history"
	"holdpoint/store"
)

// stateOf returns one word for the state of a reply.
func stateOf(d history.Reply) string {
	switch {
	case d.IsAnswer:
		return "answer"
	case d.RepeatsEntry:
		return "repeat" // it repeats an entry of resume
	case d.WasAnswer:
		return "settled"
	case d.Pause == nil:
		return "stray"
	case d.TooLate:
		return "past"
	}
	return "known" // its question is known, but it does not answer that question
}

// TestWhichMessagesAnswer checks which message of a history answers which question. It also checks
// which answers the request has as a result.
func TestWhichMessagesAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		chat, open, ended string
		entry             string // the answers in resume, such as 1=yes
		is                string // the state of each reply
		answers           string // the answers of the request; "contradiction" if they cannot be read
		stray             bool   // the request ends in a decision on an unknown question
	}{
		"a yes":                              {chat: "u a:1 t:1=yes", open: "1", is: "answer", answers: "1=yes"},
		"a no":                               {chat: "u a:1 t:1=no", open: "1", is: "answer", answers: "1=no"},
		"a yes, and words":                   {chat: "u a:1 t:1=yes u", open: "1", is: "answer", answers: "1=yes"},
		"to each of two questions":           {chat: "u a:1,2 t:1=yes t:2=no", open: "1 2", is: "answer answer", answers: "1=yes 2=no"},
		"to one of two questions":            {chat: "u a:1,2 t:2=no", open: "1 2", is: "answer", answers: "2=no"},
		"the same twice":                     {chat: "u a:1 t:1=yes t:1=yes", open: "1", is: "answer answer", answers: "1=yes"},
		"two that contradict each other":     {chat: "u a:1 t:1=yes t:1=no", open: "1", is: "answer known", answers: "contradiction", stray: true},
		"one that replaces another":          {chat: "u a:1 t:1=yes t:1=no+replaces", open: "1", is: "answer answer", answers: "1=no"},
		"a result":                           {chat: "u a:1 t:1", open: "1", is: "stray", answers: ""},
		"in a form that is read in two ways": {chat: "u a:1 t:1=yes+unclear", open: "1", is: "stray", answers: "", stray: true},
		"one that comes too late":            {chat: "u a:1 t:1=yes+past", open: "1", is: "past", answers: "", stray: true},

		"an entry alone":                     {chat: "u a:1", open: "1", entry: "1=yes", answers: "1=yes"},
		"an entry and a message that agree":  {chat: "u a:1 t:1=yes", open: "1", entry: "1=yes", is: "repeat", answers: "1=yes"},
		"an entry and one that contradicts":  {chat: "u a:1 t:1=no", open: "1", entry: "1=yes", is: "known", answers: "contradiction", stray: true},
		"an entry contradicts a replacement": {chat: "u a:1 t:1=no+replaces", open: "1", entry: "1=yes", is: "known", answers: "contradiction", stray: true},
		"an entry, and one on another call":  {chat: "u a:1,2 t:2=no", open: "1 2", entry: "1=yes", is: "answer", answers: "1=yes 2=no"},
		"an entry, and one too late":         {chat: "u a:1 t:1=yes+past", open: "1", entry: "1=yes", is: "past", answers: "1=yes"},

		"settled":                          {chat: "u a:1 t:1=yes u", ended: "1=yes", is: "answer", answers: "1=yes"},
		"another answer to what has ended": {chat: "u a:1 t:1=no u", ended: "1=yes", is: "answer", answers: "1=no"},
		"settled, and then contradicted":   {chat: "u a:1 t:1=yes t:1=no u", ended: "1=yes", is: "answer known", answers: "1=yes"},
		"settled before an open question":  {chat: "u a:1 t:1=yes u a:2 t:2=yes", open: "2", ended: "1=yes", is: "settled answer", answers: "2=yes"},
		"no answer of before":              {chat: "u a:1 t:1=no u a:2 t:2=yes", open: "2", ended: "1=yes", is: "known answer", answers: "2=yes"},
		"settled, and last":                {chat: "u a:2 t:1=yes", open: "2", ended: "1=yes", is: "settled", answers: "", stray: true},
		"settled, kept, and last":          {chat: "u a:2 t:1=yes+kept", open: "2", ended: "1=yes", is: "settled", answers: ""},
		"settled, and last beside entries": {chat: "u a:2 t:1=yes", open: "2", ended: "1=yes", entry: "2=yes", is: "settled", answers: "2=yes"},
		"one call asks again":              {chat: "u a:1 t:1=yes", open: "1", ended: "1=yes", is: "answer", answers: "1=yes"},

		"nobody knows the question":            {chat: "u a:1 t:1=yes", is: "stray", stray: true},
		"nobody knows it, and words follow":    {chat: "u a:1 t:1=yes u", is: "stray"},
		"nobody knows it, and words before":    {chat: "u a:1 u t:1=yes", is: "stray", stray: true},
		"words in the same message":            {chat: "u a:1 u:1=yes+rest", is: "stray", stray: true},
		"a message of the user, and no words":  {chat: "u a:1 t:1=yes u:1=yes", is: "stray stray", stray: true},
		"it says something else, too":          {chat: "u a:1 t:1=yes+rest", is: "stray", stray: true},
		"an answer follows it":                 {chat: "u a:1,2 t:1=yes t:2=yes", open: "2", is: "stray answer", answers: "2=yes"},
		"it follows an answer":                 {chat: "u a:1,2 t:2=yes t:1=yes", open: "2", is: "answer stray", answers: "2=yes", stray: true},
		"the result of an ordinary tool":       {chat: "u a:1 t:1"},
		"a decision if the question is known":  {chat: "u a:1 t:1=yes+ifknown", open: "1", is: "answer", answers: "1=yes"},
		"not a decision if it is not":          {chat: "u a:1 t:1=yes+ifknown"},
		"a decision unless it is a result":     {chat: "u a:1 t:1=yes+unlessresult", is: "stray", stray: true},
		"a decision unless a stream left it":   {chat: "u t:1=yes+unlessleft", is: "stray", stray: true},
		"a decision on a call that was left":   {chat: "u t:left=yes+unlessleft"},
		"one that the record noted as left":    {chat: "u t:noted=yes+unlessleft"},
		"one on a call that was not noted":     {chat: "u t:other=yes+unlessleft", is: "stray", stray: true},
		"a message that nobody takes for one":  {chat: "u w u"},
		"no messages":                          {open: "1", entry: "1=no", answers: "1=no"},
		"an entry to a question of before":     {chat: "u", ended: "1=yes", entry: "1=yes", answers: "1=yes"},
		"an entry that a settled one repeats":  {chat: "u a:1 t:1=yes", ended: "1=yes", entry: "1=yes", is: "repeat", answers: "1=yes"},
		"an entry that differs, after the end": {chat: "u a:1 t:1=no", ended: "1=yes", entry: "1=yes", is: "known", answers: "1=yes", stray: true},
	} {
		t.Run(name, func(t *testing.T) {
			more, fields, pauseID := "", history.Answers{}, ""
			if call, says, is := strings.Cut(c.entry, "="); is {
				a := answerOf(call, says)
				fields.List = []agui.Answer{a}
				more = fmt.Sprintf(`,"resume":[{"interruptId":%q,"status":"resolved","payload":%s}]`, a.ID, a.Payload)
			}
			v := viewOf(inputOf(t, c.chat, more))
			v.Dialect.Reader, v.Record, v.Thread = reader{}, recordOf(c.open, c.ended), "key"
			v.Memory = memory{passed: func(call string, own bool) bool { return call == "left" && own }}
			v.Record.Notes = []store.Note{{ID: history.LeftPrefix + "n", Text: agui.MustMarshal([]string{history.LeftHash("key", "noted")})}}
			switch {
			case c.open != "":
				pauseID = "open"
			case c.ended != "":
				pauseID = "ended"
			}
			replies, answers := history.Read(v, fields, pauseID)
			var is, said []string
			for _, d := range replies {
				is = append(is, stateOf(d))
			}
			for _, a := range answers.List {
				says := "no"
				if gjson.GetBytes(a.Payload, "approved").Bool() {
					says = "yes"
				}
				said = append(said, strings.TrimPrefix(a.ID, "i")+"="+says)
			}
			if answers.ReadError != nil {
				said = []string{"contradiction"}
			}
			slices.Sort(said)
			if got := strings.Join(is, " "); got != c.is {
				t.Errorf("the replies are %q, want %q", got, c.is)
			}
			if got := strings.Join(said, " "); got != c.answers {
				t.Errorf("the request answers %q, want %q", got, c.answers)
			}
			stray, names := replies.EndInStray(v.Input, v.Record.Pause)
			if stray != c.stray || stray && names != "rm" {
				t.Errorf("it ends in a stray decision: %v, on %q, want %v", stray, names, c.stray)
			}
		})
	}
}

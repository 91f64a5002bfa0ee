package history_test

import (
	"fmt"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/history"
	"holdpoint/translate"
)

// TestWhatGoesToTheBackend checks which messages of a request the backend gets. It checks runs
// without answers, and runs that answer the open question.
func TestWhatGoesToTheBackend(t *testing.T) {
	const native, resolved = true, `{"status":"resolved"}`
	for name, c := range map[string]struct {
		chat, open, ended string
		entry             string // the answers in resume, such as 1=yes
		resumes           bool   // the request resumes the open question
		native            bool   // the client gets the backend's own form
		want              string // the messages, "" if all stay
		strays            int
	}{
		"no decision":                          {chat: "u a:1 t:1 u"},
		"a stray decision":                     {chat: "u t:9=yes u", want: "u u", strays: 1},
		"with the call that asks for it":       {chat: "u a:9 t:9=yes+calls u", want: "u u", strays: 1},
		"with every result of that call":       {chat: "u a:9 t:9=yes+calls t:9 u", want: "u u", strays: 1},
		"beside another call":                  {chat: "u a:9,8 t:9=yes+calls t:8 u", want: "u a:8 t:8 u", strays: 1},
		"two stray decisions":                  {chat: "u a:9 t:9=yes+calls a:8 t:8=no+calls u", want: "u u", strays: 2},
		"what it says besides":                 {chat: "u t:9=yes+rest u", want: "u t:9=rest u", strays: 1},
		"settled":                              {chat: "u a:1 t:1=yes u", ended: "1=yes", want: "u a:1 u"},
		"settled, and kept":                    {chat: "u a:1 t:1=yes+kept u", ended: "1=yes"},
		"settled, kept, and not in its place":  {chat: "u a:1 u t:1=yes+kept u", ended: "1=yes", want: "u a:1 u u"},
		"settled, kept, and there twice":       {chat: "u a:1 t:1=yes+kept t:1=yes+kept u", ended: "1=yes", native: native, want: "u a:1 t:1=yes+kept u"},
		"there twice, another client":          {chat: "u a:1 t:1=yes+kept t:1=yes+kept u", ended: "1=yes", want: "u a:1 t:1=yes+kept u"},
		"and with its call":                    {chat: "u a:1 u t:1=yes+kept+calls u", ended: "1=yes", want: "u u u"},
		"twice, and with its call":             {chat: "u a:1 t:1=yes+kept+calls t:1=yes+kept+calls u", ended: "1=yes", native: native, want: "u a:1 t:1=yes+kept+calls u"},
		"settled, and what follows is removed": {chat: "u a:1 t:1=yes+kept+past+calls a:2 t:2=yes+calls", ended: "1=yes 2=yes", want: "u"},
		"another answer to what has ended":     {chat: "u a:1 t:1=no u", ended: "1=yes", want: "u a:1 u", strays: 1},
		"the answer of this request":           {chat: "u a:1 t:1=yes", open: "1", resumes: true, want: "u a:1"},
		"the answer, and new words":            {chat: "u a:1 t:1=yes u", open: "1", resumes: true, want: "u a:1 u"},
		"a message that repeats an entry":      {chat: "u a:1 t:1=" + resolved + " u", open: "1", entry: "1=yes", resumes: true, want: "u a:1 u"},
		"one too late, beside an entry":        {chat: "u a:1 t:1=yes+past u", open: "1", entry: "1=yes", resumes: true, want: "u a:1 u"},
		"a stray one beside the answer":        {chat: "u a:1 t:1=yes a:9 t:9=yes+calls u", open: "1", resumes: true, want: "u a:1 u", strays: 1},
		"settled before the answer":            {chat: "u a:1 t:1=yes u a:2 t:2=yes", open: "2", ended: "1=yes", resumes: true, want: "u a:1 u a:2"},
		"a question that was told as a text":   {chat: "u q u", want: "u u"},
		"a leftover beside the result":         {chat: "u a:1 t:1=" + resolved + " t:1 u", want: "u a:1 t:1 u"},
		"a leftover without the result":        {chat: "u a:1 t:1=" + resolved + " u"},
		"two leftovers":                        {chat: "u a:1 t:1=" + resolved + " t:1=" + resolved + " u", want: "u a:1 t:1=" + resolved + " u"},
		"a leftover of an earlier, equal call": {chat: "u a:1 t:1=" + resolved + " t:1 u a:1 t:1=" + resolved + " u", want: "u a:1 t:1 u a:1 t:1=" + resolved + " u"},
		"the backend's own form":               {chat: "u a:1 t:1=" + resolved + " t:1 u", native: native},
	} {
		t.Run(name, func(t *testing.T) {
			more := ""
			if call, says, is := strings.Cut(c.entry, "="); is {
				a := answerOf(call, says)
				more = fmt.Sprintf(`,"resume":[{"interruptId":%q,"status":"resolved","payload":%s}]`, a.ID, a.Payload)
			}
			v := viewOf(inputOf(t, c.chat, more))
			v.Dialect.Reader, v.Record, v.Show = reader{}, recordOf(c.open, c.ended), translate.ShowOutcome
			if c.native {
				v.Show = translate.ShowNative
			}
			var resumed *agui.Pause
			pauseID := ""
			if c.resumes {
				resumed, pauseID = v.Record.Pause, "open"
			}
			replies, _ := history.Read(v, history.Answers{}, pauseID)
			list, strays := history.Clean(v, replies, resumed)
			want := c.want
			if want == "" {
				want = c.chat
			}
			if got := chatOf(list); got != want || strays != c.strays {
				t.Errorf("%q remains, with %d strays gone, want %q and %d", got, strays, want, c.strays)
			}
			if (c.want == "") == history.Changed(list, v.Input.Messages) {
				t.Error("whether a list has changed is seen by the list")
			}
		})
	}
}

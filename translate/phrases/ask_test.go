package phrases

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

func TestWhatIsAQuestion(t *testing.T) {
	for name, c := range map[string]struct {
		sent   string // the messages of the request
		shown  string // the messages of the stream
		calls  []agui.Call
		end    string
		phrase string // empty if the text is not a question
	}{
		"a phrase":                       {asks, asked, nil, finished, "shall i proceed"},
		"beside a success":               {asks, asked, nil, success, "shall i proceed"},
		"a null outcome":                 {asks, asked, nil, `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1","outcome":null}`, "shall i proceed"},
		"in any case":                    {asks, say("a1", "assistant", "ARE YOU\tsure? Are You Sure?"), nil, finished, "are you sure"},
		"an own phrase":                  {asks, say("a1", "assistant", "SOLL ICH?"), nil, finished, "soll ich"},
		"in the middle":                  {asks, say("a1", "assistant", "No confirmation required, I did it."), nil, finished, "confirmation required"},
		"ordinary chat":                  {asks, say("a1", "assistant", "There. Do you want me to explain step 2?"), nil, finished, "do you want me to"},
		"without a request's messages":   {"", asked, nil, finished, "shall i proceed"},
		"behind a call with its result":  {asks, say("m", "assistant", "") + "," + say("t", "tool", "7") + "," + asked, []agui.Call{{ID: "c", Answered: true}}, finished, "shall i proceed"},
		"before a result":                {asks, asked + "," + say("t", "tool", "7"), []agui.Call{{ID: "c", Answered: true}}, finished, "shall i proceed"},
		"an old call without a result":   {`{"id":"a0","role":"assistant","toolCalls":[{"id":"c"}]},` + asks, asked, []agui.Call{{ID: "c"}}, finished, "shall i proceed"},
		"no phrase":                      {asks, say("a1", "assistant", "Done."), nil, finished, ""},
		"no phrase in the last text":     {asks, asked + "," + say("a2", "assistant", "Never mind."), nil, finished, ""},
		"nothing was said":               {asks, "", nil, finished, ""},
		"said in the history":            {asks + "," + asked, "", nil, finished, ""},
		"said before the user's message": {asks + "," + asked + "," + say("u2", "user", "hm"), "", nil, finished, ""},
		"by the user":                    {asks, say("u9", "user", "shall I proceed?"), nil, finished, ""},
		"an open call":                   {asks, asked, []agui.Call{{ID: "c", Ended: true, StreamedInRun: true}}, finished, ""},
		"pending calls of the front end": {asks, asked, nil, `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1","outcome":{"type":"success","pendingToolCallIds":["c"]}}`, ""},
		"an error":                       {asks, asked, nil, `{"type":"RUN_ERROR","message":"x"}`, ""},
		"cancelled":                      {asks, asked, nil, `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1","outcome":{"type":"cancelled"}}`, ""},
		"an interrupt":                   {asks, asked, nil, `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1","outcome":{"type":"interrupt","interrupts":[]}}`, ""},
		"a word for an outcome":          {asks, asked, nil, `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1","outcome":"success"}`, ""},
		"an opaque end":                  {asks, asked, nil, `{"type":"RUN_FINISHED","type":"RUN_FINISHED"}`, ""},
		"a content of another kind":      {asks, `{"id":"a1","role":"assistant","content":["are you sure"]}`, nil, finished, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d, in := newDialect(t), input(t, c.sent, "")
			var shown []string
			for _, s := range []string{c.sent, c.shown} {
				if s != "" {
					shown = append(shown, s)
				}
			}
			l := logOf(strings.Join(shown, ","), c.calls...)
			_, run, err := d.Begin(&translate.Request{Input: in, ClientMessages: in.Messages, Transcript: l})
			if err != nil {
				t.Fatal(err)
			}
			ev := dialecttest.Event(c.end)
			res, err := run.End(translate.End{Event: ev})
			if err != nil {
				t.Fatal(err)
			}
			if c.phrase == "" {
				if len(res.Asked.Interrupts) > 0 || string(res.Finish.JSON) != c.end {
					t.Errorf("%+v %s", res.Asked, res.Finish.JSON)
				}
				return
			}
			if len(res.Asked.Interrupts) != 1 || !d.Sign(ev, &translate.Request{Transcript: l}) || res.Finish.Get("outcome").Exists() || res.Finish.Type != agui.RunFinished {
				t.Fatalf("%+v %s", res.Asked, res.Finish.JSON)
			}
			o := gjson.ParseBytes(res.Asked.Interrupts[0].Object)
			if o.Get("reason").Str != "confirmation" || o.Get("message").Str == "" || o.Get("metadata.phrases.phrase").Str != c.phrase || o.Get("responseSchema.required.0").Str != "approved" {
				t.Errorf("interrupt %s", o.Raw)
			}
		})
	}
	t.Run("where the messages are not known", func(t *testing.T) {
		l := logOf(asks + "," + asked)
		l.Unknown = true
		if newDialect(t).Sign(dialecttest.Event(finished), &translate.Request{Transcript: l}) {
			t.Error("claimed")
		}
	})
	t.Run("for a client that is shown the backend's own form", func(t *testing.T) {
		in := input(t, asks, "")
		_, run, _ := newDialect(t).Begin(&translate.Request{Input: in, ClientMessages: in.Messages, Transcript: logOf(asks + "," + asked), Show: translate.ShowNative})
		if res, _ := run.End(translate.End{Event: dialecttest.Event(finished)}); len(res.Asked.Interrupts) > 0 {
			t.Errorf("%+v", res.Asked)
		}
	})
}

func TestLongQuestion(t *testing.T) {
	long := strings.Repeat("ü", 4<<10)
	for text, want := range map[string]string{
		long + "Shall I proceed?":     "Shall I proceed?",
		"Shall I proceed?" + long:     "Shall I proceed?",
		long + "Are you sure?" + long: "Are you sure?",
	} {
		a := askingText{text: text}
		a.phrase, a.at = newDialect(t).phrases.firstIn(text)
		if got := a.cutToBounds(); len(got) > maxMessage+8 || !strings.Contains(got, want) || !json.Valid([]byte(quoted(got))) || strings.ContainsRune(got, '\uFFFD') {
			t.Errorf("%d bytes, %.20q...", len(got), got)
		}
	}
}

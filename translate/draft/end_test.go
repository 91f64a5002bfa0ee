package draft

import (
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

// TestEndsThatAskNothing checks the ends of runs that are not pauses (section 6 of the project's
// reference of the drafts).
func TestEndsThatAskNothing(t *testing.T) {
	for name, c := range map[string]struct{ given, want string }{
		"success becomes an object, in its place":          {ended(`"outcome":"success","result":{"n":1.0},"own":null`), ended(`"outcome":{"type":"success"},"result":{"n":1.0},"own":null`)},
		"success with an interrupt":                        {ended(`"outcome":"success","interrupt":{"id":"a"}`), ended(`"outcome":{"type":"success"}`)},
		"success with a list":                              {ended(`"interrupts":[{"id":"a"}],"outcome":"success"`), ended(`"outcome":{"type":"success"}`)},
		"interrupt, and nothing to answer":                 {ended(`"outcome":"interrupt","result":{"reason":"user_cancelled"}`), ended(`"outcome":{"type":"success"},"result":{"reason":"user_cancelled"}`)},
		"interrupt with an empty list":                     {ended(`"outcome":"interrupt","interrupts":[]`), ended(`"outcome":{"type":"success"}`)},
		"interrupt with a list of no objects":              {ended(`"outcome":"interrupt","interrupts":["a",null]`), ended(`"outcome":{"type":"success"}`)},
		"an empty list alone":                              {ended(`"interrupts":[],"x":1`), ended(`"x":1`)},
		"a string that nobody knows":                       {ended(`"outcome":"cancelled","x":1`), ended(`"x":1`)},
		"the empty string":                                 {ended(`"outcome":""`), finished},
		"another spelling":                                 {ended(`"outcome":"Success"`), ended(`"outcome":{"type":"success"}`)},
		"nulls":                                            {ended(`"outcome":null,"interrupt":null,"interrupts":null,"result":null`), ended(`"result":null`)},
		"an outcome object stays":                          {ended(`"outcome":{"type":"success", "pendingToolCallIds":["a"]},"interrupt":{"id":"a"}`), ended(`"outcome":{"type":"success", "pendingToolCallIds":["a"]}`)},
		"two outcomes":                                     {ended(`"outcome":{"type":"interrupt"},"outcome":"success"`), ended(`"outcome":{"type":"success"}`)},
		"an outcome whose key is written with an escape":   {ended(`"\u006futcome":"success"`), ended(`"\u006futcome":{"type":"success"}`)},
		"an error":                                         {ended(`"outcome":"error","error":{}`), `{"type":"RUN_ERROR","message":"the run ended with outcome \"error\""}`},
		"an error with what the backend says of it":        {ended(`"timestamp":7,"usage":null,"outcome":"error","error":{"message":"too <many>","code":"LIMIT"}`), `{"type":"RUN_ERROR","message":"too <many>","code":"LIMIT","timestamp":7}`},
		"an error that is a text":                          {ended(`"outcome":"error","error":"boom"`), `{"type":"RUN_ERROR","message":"boom"}`},
		"an error with a number for a code":                {ended(`"outcome":"error","error":{"code":429},"message":"slow down"`), `{"type":"RUN_ERROR","message":"slow down","code":"429"}`},
		"an error with an interrupt":                       {ended(`"outcome":"error","interrupt":{"id":"a"}`), `{"type":"RUN_ERROR","message":"the run ended with outcome \"error\""}`},
		"agent-framework's list stays":                     {ended(`"interrupt":[{"id":"a"}],"outcome":"success"`), ended(`"interrupt":[{"id":"a"}],"outcome":{"type":"success"}`)},
		"an interrupt of no kind":                          {ended(`"interrupt":"a","outcome":"interrupt"`), ended(`"outcome":{"type":"success"}`)},
		"result says it, which nobody reads":               {ended(`"result":{"outcome":"interrupt"}`), ""},
		"a plain end":                                      {finished, ""},
		"an end in order":                                  {ended(`"outcome":{"type":"success"}`), ""},
		"an outcome that is a number is the client's find": {ended(`"outcome":7`), ""},
		"an error event":                                   {errored, ""},
		"two types":                                        {`{"type":"RUN_FINISHED","type":"RUN_FINISHED","outcome":"success"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if c.want == "" {
				c.want = c.given
			}
			res := plain(t, started, c.given)
			if got := string(res.Finish.JSON); got != c.want || res.Finish.Edited != (c.want != c.given) || len(res.Asked.Interrupts) > 0 {
				t.Errorf("told\n%s (edited: %v), want\n%s", got, res.Finish.Edited, c.want)
			}
			native := plainFor(t, &translate.Request{Input: input(t, ""), Show: translate.ShowNative}, started, c.given)
			if string(native.Finish.JSON) != c.given || native.Finish.Edited {
				t.Errorf("in native form: %s", native.Finish.JSON)
			}
		})
	}
}

func TestUnfinishedEnd(t *testing.T) {
	_, run, err := newDialect(t, Options{}).Begin(&translate.Request{Input: input(t, "")})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []translate.End{{Cut: true}, {Status: 422, Body: []byte("{}")}, {}} {
		if res, err := run.End(e); err != nil || res.Finish.Type != agui.Unknown || len(res.Asked.Interrupts) > 0 || res.Fate == translate.Lost || res.Fate == translate.Untouched {
			t.Errorf("%+v: %+v %v", e, res, err)
		}
	}
}

// TestWarning checks that the operator is warned once if the backend asks by a call of a tool that
// the option of draft does not name.
func TestWarning(t *testing.T) {
	var warned []string
	d, err := New(Options{}, func(msg string, args ...any) { warned = append(warned, msg) })
	if err != nil {
		t.Fatal(err)
	}
	for _, end := range []string{ended(`"outcome":"success"`), v1(`{}`), ended(`"outcome":"max_steps"`)} {
		play(t, begin(t, d), &dialecttest.Log{}, end)
	}
	if len(warned) > 0 {
		t.Fatalf("warned of nothing: %q", warned)
	}
	for range 2 {
		play(t, begin(t, d), &dialecttest.Log{}, ended(`"outcome":"interrupt"`))
	}
	if len(warned) != 1 || !strings.Contains(warned[0], `outcome "interrupt"`) {
		t.Errorf("warned %q", warned)
	}
}

func begin(t *testing.T, d *Dialect) translate.Run {
	t.Helper()
	_, run, err := d.Begin(&translate.Request{Input: input(t, "")})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func TestSign(t *testing.T) {
	for event, want := range map[string]bool{
		ended(`"outcome":"success"`):         true,
		ended(`"outcome":"no word of ours"`): true,
		// no other dialect claims the event, and draft only removes the null
		ended(`"outcome":null`):  true,
		ended(`"interrupt":{}`):  true,
		ended(`"interrupts":[]`): true,
		ended(`"outcome":{"type":"success"},"interrupt":{"id":"a"}`):   true,
		ended(`"outcome":{"type":"interrupt"},"interrupts":[]`):        true,
		ended(`"outcome":{"type":"interrupt","interrupts":[{}]}`):      false, // agui claims it
		ended(`"outcome":{"type":"success"},"interrupt":[{"id":"a"}]`): false, // agent-framework claims it
		ended(`"interrupt":[{"id":"a","value":{}}]`):                   false,
		// harmless to every client, so the event is not changed
		ended(`"interrupt":null,"result":null`):   false,
		ended(`"outcome":7`):                      false,
		ended(`"result":{"outcome":"interrupt"}`): false,
		finished: false,
		errored:  false,
		`{"type":"CUSTOM","name":"x","outcome":"success"}`:       false,
		`{"type":"RUN_FINISHED","type":"X","outcome":"success"}`: false,
		`{"type":"RUN_FINISHED","outcome":"success"`:             false,
	} {
		if got := newDialect(t, Options{}).Sign(agui.NewEvent([]byte(event)), &translate.Request{}); got != want {
			t.Errorf("%s: %v", event, got)
		}
	}
}

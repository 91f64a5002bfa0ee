package client

import (
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// TestIDs checks which ids an event has when the client gets it.
func TestIDs(t *testing.T) {
	t.Parallel()
	mapped := func(l Listener) Listener { // the backend's thread id is b
		in := l.In.WithThread("b")
		l.In = &in
		return l
	}
	later := func(l Listener) Listener {
		l.FollowsRun = true
		return l
	}
	for name, c := range map[string]struct {
		listener   Listener
		came, want string // want "": unchanged
	}{
		"its own": {listen(t, older), `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`, ""},
		"an invented run": {listen(t, older),
			`{"type":"RUN_FINISHED","threadId":"t","runId":"x","result":1}`, `{"type":"RUN_FINISHED","threadId":"t","runId":"r","result":1}`},
		"an invented thread": {listen(t, older),
			`{"type":"RUN_STARTED","threadId":"x","runId":"r"}`, `{"type":"RUN_STARTED","threadId":"t","runId":"r"}`},
		"none": {listen(t, older), `{"type":"RUN_FINISHED"}`, `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`},
		"a version to a client that declares one": {listen(t, official),
			`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`, `{"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":"1.0"}`},
		"the backend's version":                    {listen(t, official), `{"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":"1.1"}`, ""},
		"a later run of the stream":                {later(listen(t, older)), `{"type":"RUN_STARTED","threadId":"t","runId":"r2"}`, ""},
		"another event":                            {listen(t, older), `{"type":"CUSTOM","threadId":"x","runId":"x"}`, ""},
		"an error":                                 {listen(t, older), `{"type":"RUN_ERROR","message":"m","threadId":"x"}`, ""},
		"an error with the backend's thread":       {mapped(listen(t, older)), `{"type":"RUN_ERROR","message":"m","threadId":"b"}`, `{"type":"RUN_ERROR","message":"m","threadId":"t"}`},
		"the backend's thread":                     {mapped(listen(t, older)), `{"type":"RUN_FINISHED","threadId":"b","runId":"r"}`, `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`},
		"the backend's thread of a later run":      {later(mapped(listen(t, older))), `{"type":"RUN_FINISHED","threadId":"b","runId":"r2"}`, `{"type":"RUN_FINISHED","threadId":"t","runId":"r2"}`},
		"another thread of a later run":            {later(mapped(listen(t, older))), `{"type":"RUN_FINISHED","threadId":"x","runId":"r2"}`, ""},
		"the input that a RUN_STARTED repeats":     {mapped(listen(t, older)), `{"type":"RUN_STARTED","threadId":"t","runId":"r","input":{"threadId":"b"}}`, `{"type":"RUN_STARTED","threadId":"t","runId":"r","input":{"threadId":"t"}}`},
		"an input of another thread, as it stands": {mapped(listen(t, older)), `{"type":"RUN_STARTED","threadId":"t","runId":"r","input":{"threadId":"x"}}`, ""},
	} {
		if c.want == "" {
			c.want = c.came
		}
		if got := c.listener.WithIDs(agui.NewEvent([]byte(c.came))); string(got.JSON) != c.want {
			t.Errorf("%s: %s, want %s", name, got.JSON, c.want)
		}
	}
	l := mapped(listen(t, official))
	same(t, []agui.Event{l.Start(), l.Finish(), listen(t, older).Start()},
		`{"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":"1.0"}`, `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`,
		`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`)
	// A dialect may use its own run ids, and the backend may have its own thread id. The client
	// must get the ids of its request.
	same(t, []agui.Event{l.InThread(agui.NewEvent([]byte(`{"type":"RUN_FINISHED","threadId":"b","runId":"x"}`)))}, `{"type":"RUN_FINISHED","threadId":"t","runId":"x"}`)
}

// TestEndsThatAClientCanRead: a client declares no version. It must not get the outcomes that AG-UI
// 1.0 added.
func TestEndsThatAClientCanRead(t *testing.T) {
	t.Parallel()
	const (
		cancelled = `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"cancelled"}}`
		pending   = `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success","pendingToolCallIds":["c"]}}`
		plain     = `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`
		success   = `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success"}}`
		failed    = `{"type":"RUN_ERROR","message":"m"}`
	)
	for name, c := range map[string]struct {
		listener   Listener
		came, want string
	}{
		"a cancel, of 1.0":          {listen(t, official), cancelled, cancelled},
		"a cancel, older":           {listen(t, older), cancelled, plain},
		"a cancel, .NET":            {listen(t, dotnet), cancelled, plain},
		"a cancel, the own form":    {as(listen(t, older), translate.ShowNative), cancelled, cancelled},
		"calls that wait, of 1.0":   {listen(t, official), pending, pending},
		"calls that wait, older":    {listen(t, older), pending, success},
		"a success, older":          {listen(t, older), success, success},
		"an error, older":           {listen(t, older), failed, failed},
		"calls that wait, own form": {listen(t, inTree), pending, pending},
	} {
		if got := c.listener.ForClient(agui.NewEvent([]byte(c.came))); string(got.JSON) != c.want {
			t.Errorf("%s: %s, want %s", name, got.JSON, c.want)
		}
	}
}

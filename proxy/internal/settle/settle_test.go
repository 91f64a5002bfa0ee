package settle

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/client"
	"holdpoint/store"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// A known is a Transcript with messages, calls and a state that a test sets.
type known struct {
	messages []json.RawMessage
	unknown  bool // the messages were too large
	calls    []agui.AskedCall
}

func (k known) Messages() ([]json.RawMessage, bool)           { return k.messages, !k.unknown }
func (known) State() (json.RawMessage, bool)                  { return json.RawMessage(`{}`), true }
func (known) SnapshotsSent() (state, anyState, messages bool) { return false, false, false }
func (k known) KnowsOpen() bool                               { return !k.unknown }
func (k known) AskedCall(id string) (agui.AskedCall, bool) {
	at := slices.IndexFunc(k.calls, func(c agui.AskedCall) bool { return c.ID == id })
	if at < 0 {
		return agui.AskedCall{}, false
	}
	return k.calls[at], true
}

func (k known) SeenMessages() (list []agui.SeenMessage) {
	for _, m := range k.messages {
		list = append(list, agui.NewSeenMessage(agui.ParseMessage(m)))
	}
	return list
}

const (
	user = `{"id":"u1","role":"user","content":"go"}`
)

// facts returns the Facts of a run. The run has claimed a pause for a yes, and has sent the yes to
// the backend.
func facts() *Facts {
	in := agui.RunInput{ThreadID: "t", RunID: "r", ProtocolVersion: "1.0"}
	came := []agui.Message{agui.ParseMessage([]byte(user))}
	asked := agui.Interrupt{ID: "n~x", Native: "n", Object: []byte(`{"id":"n~x","toolCallId":"c1"}`)}
	return &Facts{
		Input: &in, ClientMessages: came, Record: &store.Record{Pause: &agui.Pause{ID: "p", Interrupts: []agui.Interrupt{asked}}},
		Answers: []agui.Answer{{ID: "n~x", Status: agui.Resolved, Payload: []byte(`{"approved":true}`)}},
		Claimed: true, Resumes: true, Evidence: Evidence{Exchanges: 1, Resumes: true, Connected: true},
		Dialect: "d", Listener: client.Listener{Thread: "t", In: &in, ClientMessages: came}, Transcript: known{messages: []json.RawMessage{json.RawMessage(user)}},
		EarlierReplies: func(*agui.Pause) ([]agui.EarlierReply, error) { return nil, nil },
		PauseID:        "p2", NewID: func() string { return "y" }, Now: time.Date(2026, 11, 28, 10, 0, 0, 0, time.UTC), Limits: Limits{FrameBytes: 1 << 10},
	}
}

func event(text string) agui.Event { return agui.NewEvent([]byte(text)) }

// TestWhatBecomesOfAnEnd: a run has sent answers and ends. The test checks what the end means for
// the answers. If the backend was silent, this is not a success. If an action may have run, it is
// in doubt.
func TestWhatBecomesOfAnEnd(t *testing.T) {
	finished, kaput := event(`{"type":"RUN_FINISHED","threadId":"x","runId":"x"}`), event(`{"type":"RUN_ERROR","message":"kaput","code":"OWN"}`)
	broken := agui.Errorf(agui.UpstreamEOF, "broke off")
	notSent := func(f *Facts) { f.Evidence.Connected = false }
	result := func(f *Facts) { f.Calls = []agui.Call{{ID: "c1", Answered: true}} }
	no := func(f *Facts) { f.Answers[0].Payload = []byte(`{"approved":false}`) }
	plain := func(f *Facts) {
		f.Claimed, f.Resumes, f.Evidence = false, false, Evidence{Exchanges: 1, Connected: true}
	}
	for situation, c := range map[string]struct {
		change func(f *Facts)
		res    translate.Result
		end    End
		failed *agui.RunError
		want   string // the type of the terminal event
		how    store.EndKind
		back   bool
		said   bool
	}{
		"the backend has finished":          {nil, translate.Result{}, End{End: translate.End{Event: finished}}, nil, "RUN_FINISHED", store.Finished, false, false},
		"the dialect ends a no otherwise":   {no, translate.Result{Finish: finished}, End{End: translate.End{Event: kaput}}, nil, "RUN_FINISHED", store.Finished, false, true},
		"an error behind a yes":             {nil, translate.Result{}, End{End: translate.End{Event: kaput}}, nil, "RUN_ERROR:OWN", store.Doubtful, false, true},
		"an error behind the call's result": {result, translate.Result{}, End{End: translate.End{Event: kaput}}, nil, "RUN_ERROR:OWN", store.Finished, false, false},
		"a result that the client brought": {func(f *Facts) {
			result(f)
			f.ClientMessages = append(f.ClientMessages, agui.ParseMessage([]byte(`{"id":"m","role":"tool","toolCallId":"c1","content":"x"}`)))
		}, translate.Result{}, End{End: translate.End{Event: kaput}}, nil, "RUN_ERROR:OWN", store.Doubtful, false, true},
		"an error behind the call alone":        {func(f *Facts) { f.Calls = []agui.Call{{ID: "c1"}} }, translate.Result{}, End{End: translate.End{Event: kaput}}, nil, "RUN_ERROR:OWN", store.Doubtful, false, true},
		"an error behind a no":                  {no, translate.Result{}, End{End: translate.End{Event: kaput}}, nil, "RUN_ERROR:OWN", store.Finished, false, false},
		"an error that another Holdpoint knows": {nil, translate.Result{}, End{End: translate.End{Event: kaput}, Known: true}, nil, "RUN_ERROR:OWN", store.Finished, false, false},
		"the stream broke off":                  {nil, translate.Result{}, End{End: translate.End{Cut: true}, Broken: broken}, nil, "RUN_ERROR:UPSTREAM_EOF", store.Doubtful, false, false},
		"it broke off before it was sent":       {notSent, translate.Result{}, End{Broken: broken}, nil, "RUN_ERROR:UPSTREAM_EOF", store.Doubtful, true, false},
		"it broke off, an ordinary run":         {plain, translate.Result{}, End{Broken: broken}, nil, "RUN_ERROR:UPSTREAM_EOF", store.Finished, false, false},
		"turned down by its status":             {nil, translate.Result{}, End{End: translate.End{Status: 422}, TurnedDown: true, Broken: agui.Errorf(agui.UpstreamStatus, "422")}, nil, "RUN_ERROR:UPSTREAM_STATUS", store.Doubtful, true, false},
		"a status that may have begun":          {nil, translate.Result{}, End{End: translate.End{Status: 500}, Broken: agui.Errorf(agui.UpstreamStatus, "500")}, nil, "RUN_ERROR:UPSTREAM_STATUS", store.Doubtful, false, false},
		"the dialect says: untouched":           {nil, translate.Result{Fate: translate.Untouched, Finish: kaput}, End{End: translate.End{Event: kaput}}, nil, "RUN_ERROR:OWN", store.Finished, true, true},
		"untouched, but not the first":          {func(f *Facts) { f.Evidence.EarlierExchanges = 1 }, translate.Result{Fate: translate.Untouched, Finish: kaput}, End{End: translate.End{Event: kaput}}, nil, "RUN_ERROR:OWN", store.Finished, false, true},
		"the backend has lost the question":     {nil, translate.Result{Fate: translate.Lost}, End{End: translate.End{Event: finished}}, nil, "RUN_ERROR:BACKEND_LOST_INTERRUPT", store.Lost, false, true},
		"the dialect says: in doubt":            {nil, translate.Result{Fate: translate.InDoubt}, End{End: translate.End{Event: finished}}, nil, "RUN_ERROR:RESUME_IN_DOUBT", store.Doubtful, false, true},
		"another Holdpoint says: in doubt":      {nil, translate.Result{}, End{End: translate.End{Event: kaput}, Inner: translate.InDoubt, Known: true}, nil, "RUN_ERROR:OWN", store.Doubtful, false, true},
		"the dialect has failed":                {nil, translate.Result{}, End{End: translate.End{Event: finished}}, agui.Errorf(agui.InternalError, "bug"), "RUN_ERROR:INTERNAL_ERROR", store.Doubtful, false, true},
		"it has failed, and nothing was sent":   {notSent, translate.Result{}, End{End: translate.End{Event: finished}}, agui.Errorf(agui.InternalError, "bug"), "RUN_ERROR:INTERNAL_ERROR", store.Doubtful, true, true},
		"it has failed at what is not sent":     {func(f *Facts) { f.Evidence = Evidence{Exchanges: 1, Resumes: true, None: true} }, translate.Result{}, End{}, agui.Errorf(agui.InternalError, "bug"), "RUN_ERROR:INTERNAL_ERROR", store.Doubtful, true, true},
		"one exchange too many":                 {func(f *Facts) { f.Evidence.Exchanges = MaxExchanges }, translate.Result{Next: &translate.Exchange{}}, End{End: translate.End{Event: finished}}, nil, "RUN_ERROR:UPSTREAM_STATUS", store.Doubtful, false, false},
	} {
		t.Run(situation, func(t *testing.T) {
			f := facts()
			if c.change != nil {
				c.change(f)
			}
			o := Settle(f, &c.res, &c.end, c.failed)
			got := o.Finish.Get("type").Str
			if code := o.Finish.Get("code").Str; code != "" {
				got += ":" + code
			}
			if o.Next != nil || o.Ask != nil || got != c.want || o.End.EndKind != c.how || o.ReopensPause != c.back || o.Handled != c.said {
				t.Errorf("%s, %q, back %v, said %v; want %s, %q, back %v, said %v", got, o.End.EndKind, o.ReopensPause, o.Handled, c.want, c.how, c.back, c.said)
			}
			if o.Finish.Type == agui.RunFinished && (o.Finish.Get("runId").Str != "r" || o.Finish.Get("threadId").Str != "t") {
				t.Errorf("the ids of another run: %s", o.Finish.JSON)
			}
			if keeps := o.End.Messages != nil; f.Claimed && !c.back && keeps != (c.how != store.Doubtful || strings.HasSuffix(situation, "behind a yes") || strings.HasSuffix(situation, "call alone") || strings.HasSuffix(situation, "client brought")) {
				t.Errorf("snapshots kept: %v", keeps)
			}
		})
	}
}

// TestDoubt: the end of a run is unknown. The test checks what the record keeps of the run. A
// message that the backend did not get must not count as seen.
func TestDoubt(t *testing.T) {
	f := facts()
	f.ClientMessages = append(f.ClientMessages, agui.ParseMessage([]byte(`{"id":"u2","role":"user","content":"more"}`)))
	f.Extra, f.ByArray = f.ClientMessages[1:], true
	end := f.Doubt()
	if end.EndKind != store.Doubtful || !end.ByArray || end.Messages != nil || len(end.SeenMessages) != 1 || end.SeenMessages[0].ID != "u1" {
		t.Errorf("%+v", end)
	}
}

// TestNextExchange checks that a run does not end if the dialect begins another exchange.
func TestNextExchange(t *testing.T) {
	held, next := event(`{"type":"STEP_FINISHED","stepName":"s"}`), &translate.Exchange{}
	o := Settle(facts(), &translate.Result{Next: next, HeldEvents: []agui.Event{held}}, &End{}, nil)
	if o.Next != next || len(o.HeldEvents) != 1 || o.Ask != nil || o.Finish.Type != agui.Unknown || o.ReopensPause {
		t.Errorf("%+v", o)
	}
}

// TestWhatARunAsks: a run ends with questions. A question must get an id that no earlier question
// has, and the record must get everything that Holdpoint needs to read an answer to it.
func TestWhatARunAsks(t *testing.T) {
	asks := func(list ...agui.Interrupt) translate.Result {
		return translate.Result{Finish: event(`{"type":"RUN_FINISHED","threadId":"x","runId":"x"}`), Asked: translate.AskedPause{Interrupts: list}}
	}
	one := agui.Interrupt{Native: "n", Object: []byte(`{"reason":"tool_call","toolCallId":"c1"}`), Keys: []string{"n"}}
	many := make([]agui.Interrupt, kit.MaxQuestions+1)
	for situation, c := range map[string]struct {
		change  func(f *Facts)
		res     translate.Result
		ids     string
		refused agui.Code
		check   func(o *Outcome) bool
	}{
		"one": {nil, asks(one), "n~y", "", func(o *Outcome) bool {
			return o.Ask.Dialect == "d" && o.Ask.ID == "p2" && o.Ask.Interrupts[0].Keys != nil
		}},
		"in the backend's own form":       {func(f *Facts) { f.Listener.Show = translate.ShowNative }, asks(one), "n", "", nil},
		"own form, two of one id":         {func(f *Facts) { f.Listener.Show = translate.ShowNative }, asks(one, one), "n~y n~y", "", nil},
		"without an id":                   {func(f *Facts) { f.Listener.Show = translate.ShowNative }, asks(agui.Interrupt{Object: []byte(`{}`)}), "~y", "", nil},
		"an id that no log line can hold": {nil, asks(agui.Interrupt{Native: "a\nb", Object: []byte(`{}`)}), "a\uFFFDb~y", "", nil},
		"it has an end":                   {func(f *Facts) { f.Limits.InterruptTTL = time.Hour }, asks(one), "n~y", "", func(o *Outcome) bool { at, is := o.Ask.Interrupts[0].Expires(); return is && at.Hour() == 11 }},
		"the backend has given it an end": {func(f *Facts) { f.Limits.InterruptTTL = time.Hour }, asks(agui.Interrupt{Native: "n", Object: []byte(`{"expiresAt":"2026-12-01T00:00:00Z"}`)}), "n~y", "", func(o *Outcome) bool { at, _ := o.Ask.Interrupts[0].Expires(); return at.Month() == time.December }},
		"about a call that was shown":     {func(f *Facts) { f.Transcript = known{calls: []agui.AskedCall{{ID: "c1", Name: "rm"}}} }, asks(one), "n~y", "", func(o *Outcome) bool { return o.Ask.Interrupts[0].Calls[0].Name == "rm" }},
		"replies that stood are not known": {func(f *Facts) {
			f.EarlierReplies = func(*agui.Pause) ([]agui.EarlierReply, error) { return nil, agui.Errorf(agui.InternalError, "bug") }
		}, asks(one), "n~y", "", func(o *Outcome) bool { return o.RepliesErr != nil && o.Ask.Interrupts[0].Keys == nil }},
		"a message that was not taken":  {nil, translate.Result{Asked: translate.AskedPause{Interrupts: []agui.Interrupt{one}}, UnacceptedMessages: []agui.Message{agui.ParseMessage([]byte(user))}}, "n~y", "", func(o *Outcome) bool { return len(o.Extra) == 1 && len(o.Ask.SeenMessages) == 0 }},
		"it goes on without its client": {func(f *Facts) { f.Continuation = &agui.Continuation{} }, asks(one), "n~y", "", func(o *Outcome) bool { return o.Ask.Continuation.ChatOnlyReasons == nil && o.Ask.Messages != nil }},
		"the messages are not known": {func(f *Facts) {
			f.Continuation = &agui.Continuation{ChatOnlyReasons: []agui.ChatOnlyReason{agui.NoForm}}
			f.Listener.Show = translate.ShowNative
			f.Transcript = known{unknown: true}
		}, asks(one), "n", "", func(o *Outcome) bool {
			return slices.Equal(o.Ask.Continuation.ChatOnlyReasons, []agui.ChatOnlyReason{agui.NoMessages, agui.NoForm})
		}},
		"an exchange failed behind others": {nil, func() translate.Result { r := asks(one); r.Failed = true; return r }(), "n~y", "", func(o *Outcome) bool { return o.Failure != nil && o.Failure.How == store.Finished }},
		"more than anybody answers":        {nil, asks(many...), "", agui.PauseTooLarge, nil},
		"larger than can be kept":          {nil, asks(agui.Interrupt{Native: "n", Object: []byte(`{"x":"` + strings.Repeat("x", 5<<10) + `"}`)}), "", agui.PauseTooLarge, nil},
		"more is open than is known":       {func(f *Facts) { f.Transcript = known{unknown: true} }, asks(one), "", agui.PauseTooLarge, nil},
	} {
		t.Run(situation, func(t *testing.T) {
			f := facts()
			if c.change != nil {
				c.change(f)
			}
			o := Settle(f, &c.res, &End{End: translate.End{Event: event(`{"type":"RUN_FINISHED"}`)}}, nil)
			if c.refused != "" {
				if o.Ask != nil || o.Refused == nil || o.Refused.Code != c.refused || o.End.EndKind != store.Finished {
					t.Errorf("asks: %v, refused: %v", o.Ask != nil, o.Refused)
				}
				return
			}
			if o.Ask == nil {
				t.Fatalf("it asks nothing: %v", o.Refused)
			}
			var ids []string
			for _, i := range o.Ask.Interrupts {
				ids = append(ids, i.ID)
				if got := agui.View(i.Object).Get("id").Str; got != i.ID {
					t.Errorf("published as %q", got)
				}
			}
			if got := strings.Join(ids, " "); got != c.ids {
				t.Errorf("ids %q, want %q", got, c.ids)
			}
			if c.check != nil && !c.check(&o) {
				t.Errorf("the question is %s", agui.MustMarshal(o.Ask))
			}
		})
	}
}

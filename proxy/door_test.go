package proxy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/event/door"
	"holdpoint/store"
	"holdpoint/translate"
	"holdpoint/translate/yesno"
)

// A deskRig is a rig with a desk. Its backend asks the questions x and y in the first run, and ends
// the next run without a question, unless the test changes that.
type deskRig struct {
	*rig
	key store.Key
}

const (
	asksXY  = `{"type":"RUN_FINISHED","threadId":"t","runId":"x","outcome":{"type":"interrupt","interrupts":[{"id":"x","reason":"confirmation","responseSchema":{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]}},{"id":"y","reason":"confirmation"}]}}`
	saysYes = `{"approved":true}`
	saysNo  = `{"approved":false}`
)

func newDeskRig(t *testing.T, then func(w http.ResponseWriter, n int), change ...func(*Options)) *deskRig {
	d := &deskRig{key: recordKey("/", "t")}
	change = append([]func(*Options){func(o *Options) { o.OtherDoors = &OtherDoors{KeepsInput: true} }}, change...)
	d.rig = newRig(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		switch {
		case n == 1:
			sendStream(w, streamOf(started, hello, asksXY))
		case then != nil:
			then(w, n)
		default:
			sendStream(w, streamOf(started, strings.ReplaceAll(hello, "m1", "m2"), finished))
		}
	}, change...)
	if got := d.do(input("t", "r1", "")); !strings.HasSuffix(types(got), "RUN_FINISHED+interrupt") {
		t.Fatal(got)
	}
	return d
}

func (d *deskRig) record() store.Record {
	d.t.Helper()
	rec, err := d.store.Load(d.t.Context(), d.key, "")
	if err != nil {
		d.t.Fatal(err)
	}
	return rec
}

// id returns the published id of the question with this native id.
func (d *deskRig) id(native string) string {
	for _, p := range d.pauses() {
		for _, i := range p.Interrupts {
			if i.Native == native {
				return i.ID
			}
		}
	}
	d.t.Fatalf("no question %s", native)
	return ""
}

func (d *deskRig) pauses() (list []*agui.Pause) {
	rec := d.record()
	if rec.Pause != nil {
		list = append(list, rec.Pause)
	}
	for _, r := range rec.Results {
		list = append(list, r.Pause)
	}
	return list
}

func (d *deskRig) says(native string, payload string) door.Decision {
	w := door.Decision{Question: d.id(native), Status: agui.Resolved, Payload: []byte(payload), Comment: "fine"}
	if payload == "" {
		w.Status, w.Payload = agui.Cancelled, nil
	}
	return w
}

var maria = door.Decider{Door: "desk", Name: "Maria"}

func (d *deskRig) decides(words ...door.Decision) error {
	_, err := d.h.Decide(d.t.Context(), d.key, d.pauses()[0].ID, maria, words)
	return err
}

func (d *deskRig) decide(words ...door.Decision) {
	d.t.Helper()
	if err := d.decides(words...); err != nil {
		d.t.Fatal(err)
	}
}

func (d *deskRig) carry() {
	d.t.Helper()
	if err := d.h.Carry(d.t.Context(), d.key); err != nil {
		d.t.Fatal(err)
	}
}

// delivered returns the answers in request number n to the backend. Each answer is given as native
// id, status and payload.
func (d *deskRig) delivered(n int) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var list []string
	for _, a := range gjson.GetBytes(d.calls[n-1], "answers").Array() {
		id, _, _ := strings.Cut(a.Get("id").Str, "~")
		list = append(list, id+" "+a.Get("status").Str+" "+a.Get("payload").Raw)
	}
	return strings.Join(list, ", ")
}

// TestDecidedAndCarriedWithoutTheClient: Holdpoint must send the decisions of the desk to the
// backend once. When the chat comes back, it must get the result.
func TestDecidedAndCarriedWithoutTheClient(t *testing.T) {
	d := newDeskRig(t, nil)
	d.decide(d.says("x", saysYes))
	if err := d.h.Carry(t.Context(), d.key); !errors.Is(err, door.ErrUndecided) || d.called() != 1 {
		t.Errorf("carried a part: %v, %d calls", err, d.called())
	}
	d.decide(d.says("y", ""))
	if rec := d.record(); rec.State != store.Open || !rec.Pause.Decided() || rec.Pause.Decisions[0].By != "Maria" || rec.Pause.Decisions[0].QuestionDigest == "" {
		t.Fatalf("%+v", rec.Pause)
	}
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() { _ = d.h.Carry(t.Context(), d.key) })
	}
	all.Wait()
	rec := d.record()
	if d.called() != 2 || rec.State != store.None || rec.Results[0].EndKind != store.Finished || rec.Results[0].ByArray {
		t.Fatalf("%d calls, %+v", d.called(), rec)
	}
	if got := d.delivered(2); got != "x resolved "+saysYes+", y cancelled " {
		t.Errorf("delivered %s", got)
	}
	// If the chat sends the same answers, or some of them, it gets the recorded end of the run. If
	// it sends different answers, nothing may run.
	wantTypes(t, d.do(input("t", "r2", resumeWith(no(d.id("y"))))), "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED")
	wantTypes(t, d.do(input("t", "r3", resumeWith(no(d.id("x")), no(d.id("y"))))), "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED RUN_ERROR:RESUME_CONFLICT")
	if d.called() != 2 {
		t.Errorf("%d calls", d.called())
	}
	// A recorded decision cannot be changed.
	pause := rec.Results[0].PauseID
	same, other := d.says("x", saysYes), d.says("x", saysNo)
	if _, err := d.h.Decide(t.Context(), d.key, pause, maria, []door.Decision{same}); err != nil {
		t.Errorf("the same again: %v", err)
	}
	if _, err := d.h.Decide(t.Context(), d.key, pause, maria, []door.Decision{other}); !errors.Is(err, store.ErrConflict) {
		t.Errorf("otherwise: %v", err)
	}
}

// TestRequestOfHoldpointsOwn tests the request by which Holdpoint itself sends the decisions on a
// pause. However many such requests are made, they must send the decisions once, and no client may
// get the response. Whatever has happened to the pause meanwhile, the request must not become an
// ordinary run.
func TestRequestOfHoldpointsOwn(t *testing.T) {
	asksAgain := func(w http.ResponseWriter, n int) {
		if n == 2 {
			sendStream(w, streamOf(started, strings.ReplaceAll(hello, "m1", "m2"), finished))
			return
		}
		sendStream(w, streamOf(started, asksXY))
	}
	chat := func(d *deskRig, entry func(id string) string) {
		d.do(input("t", "r2", resumeWith(entry(d.id("x")), entry(d.id("y")))))
	}
	approves := func(id string) string {
		return fmt.Sprintf(`{"interruptId":%q,"status":"resolved","payload":%s}`, id, saysYes)
	}
	for name, c := range map[string]struct {
		before func(d *deskRig) // what happens between the question and these requests
		calls  int
		state  store.State
	}{
		"the questions are decided":      {func(d *deskRig) { d.decide(d.says("x", saysYes), d.says("y", "")) }, 2, store.None},
		"nobody has decided":             {func(*deskRig) {}, 1, store.Open},
		"a part is decided":              {func(d *deskRig) { d.decide(d.says("x", saysYes)) }, 1, store.Open},
		"the chat has answered them":     {func(d *deskRig) { chat(d, approves) }, 2, store.None},
		"the chat has denied them":       {func(d *deskRig) { chat(d, no) }, 2, store.None},
		"another question is asked then": {func(d *deskRig) { chat(d, approves); d.do(input("t", "r3", "")) }, 3, store.Open},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDeskRig(t, asksAgain)
			p := d.record().Pause
			shown, err := d.store.Snapshots(t.Context(), d.key, p.ID, store.AtPause)
			if err != nil {
				t.Fatal(err)
			}
			c.before(d)
			var all sync.WaitGroup
			for range 10 {
				r, err := d.h.ownRun(ownHTTP(t.Context()), d.key, p, shown)
				if err != nil {
					t.Fatal(err)
				}
				all.Go(func() { r.serve(absentClient{headerOnly{}}) })
			}
			all.Wait()
			if rec := d.record(); d.called() != c.calls || rec.State != c.state {
				t.Errorf("%d calls, state %q, want %d, %q", d.called(), rec.State, c.calls, c.state)
			}
			d.mu.Lock()
			defer d.mu.Unlock()
			if name == "the questions are decided" && d.heads[1].Get("X-Forwarded-For") != "" {
				t.Errorf("it goes out as a client's: %v", d.heads[1])
			}
		})
	}
}

// TestWhatIsSentWithoutTheClient: if Holdpoint sends decisions without the client, it must send the
// input of the run that paused, with the messages as they were at the pause.
func TestWhatIsSentWithoutTheClient(t *testing.T) {
	d := newDeskRig(t, nil, func(o *Options) { o.Dialect = &fakeDialect{begin: takesNew} })
	body := `{"threadId":"u","runId":"r1","state":{"n":1},"tools":[],"context":[{"k":"v"}],"forwardedProps":{"model":"m","command":{"resume":"old"}},"messages":[` + oldUser + `],"resume":[]}`
	d.key = recordKey("/", "u")
	d.mu.Lock()
	d.calls = nil // so that the next call asks again
	d.mu.Unlock()
	d.do(body)
	d.decide(d.says("x", saysYes), d.says("y", "1"))
	d.carry()
	sent := d.calls[1]
	if h := d.heads[len(d.heads)-1]; h.Get("Content-Type") != "application/json" || h.Get("Accept") != "text/event-stream" {
		t.Errorf("sent with %v", h)
	}
	if messages := gjson.GetBytes(sent, "messages.#.role").String(); messages != `["user","assistant"]` {
		t.Errorf("messages %s: %s", messages, sent)
	}
}

// TestDecidedAtOnceFromTenPlaces: ten people send decisions on one question at the same time. Only
// one decision may count. A person who sent an equal decision must get the same reply, and a person
// who sent a different one must get a conflict.
func TestDecidedAtOnceFromTenPlaces(t *testing.T) {
	d := newDeskRig(t, nil)
	words := make([]door.Decision, 10)
	for n := range words {
		words[n] = d.says("y", fmt.Sprint(n%5))
	}
	errs := make([]error, len(words))
	var all sync.WaitGroup
	for n := range words {
		all.Go(func() { errs[n] = d.decides(words[n]) })
	}
	all.Wait()
	stands := d.record().Pause.Decisions
	if len(stands) != 1 {
		t.Fatalf("%d stand", len(stands))
	}
	for n, err := range errs {
		if same := string(words[n].Payload) == string(stands[0].Payload); same != (err == nil) || err != nil && !errors.Is(err, store.ErrConflict) {
			t.Errorf("%s where %s stands: %v", words[n].Payload, stands[0].Payload, err)
		}
	}
}

// TestABareBooleanAtTheDesk: the desk sends a bare boolean as the payload. Holdpoint must read it
// as the object that the schema requires. This must also hold if the desk repeats the decision, as
// a boolean or as an object.
func TestABareBooleanAtTheDesk(t *testing.T) {
	d := newDeskRig(t, nil)
	for n, payload := range []string{`true`, `{"approved":true}`, `true`} {
		if err := d.decides(d.says("x", payload)); err != nil {
			t.Fatalf("%d: %s: %v", n, payload, err)
		}
	}
	if err := d.decides(d.says("x", `false`)); !errors.Is(err, store.ErrConflict) {
		t.Errorf("the contrary: %v", err)
	}
	stands := d.record().Pause.Decisions
	if len(stands) != 1 || string(stands[0].Payload) != `{"approved":true}` || stands[0].Verdict != "approved" {
		t.Errorf("%+v", stands)
	}
}

// TestTheAgentsOwnValuesAtTheDesk: the operator has configured the agent's own values for a yes and
// a no. Holdpoint must read the value for a yes as an approval. This must also hold if the desk
// repeats the decision in either form, before and after Holdpoint sends it to the backend.
func TestTheAgentsOwnValuesAtTheDesk(t *testing.T) {
	var answers yesno.Rules
	if err := answers.UnmarshalText([]byte(`* {"go":true} {"go":false}`)); err != nil {
		t.Fatal(err)
	}
	free := callFamily{dialect: "agui", asks: []string{`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"n1","reason":"input_required","message":"Pay?"}]}}`}}
	g := newFamilyRig(t, free, true, free.asksOnce, func(o *Options) { o.Answers = answers })
	g.do(talk("t", ""))
	pause := func() *agui.Pause {
		rec, err := g.store.Load(t.Context(), recordKey("/", "t"), "")
		if err != nil {
			t.Fatal(err)
		}
		return rec.Pause
	}
	p := pause()
	if p == nil || p.Interrupts[0].YesNo == nil {
		t.Fatalf("%+v", p)
	}
	decides := func(payload string) error {
		word := door.Decision{Question: p.Interrupts[0].ID, Status: agui.Resolved, Payload: []byte(payload)}
		_, err := g.h.Decide(t.Context(), recordKey("/", "t"), p.ID, maria, []door.Decision{word})
		return err
	}
	for _, carried := range []bool{false, true} {
		if carried {
			g.do(talk("t", ""))
			if pause() != nil {
				t.Fatal("it was not carried")
			}
		}
		for _, payload := range []string{`{"go":true}`, `{"approved":true}`, `{"go":true}`} {
			if err := decides(payload); err != nil {
				t.Errorf("carried %v: %s: %v", carried, payload, err)
			}
		}
		for _, payload := range []string{`{"go":false}`, `{"approved":false}`} {
			if err := decides(payload); !errors.Is(err, store.ErrConflict) {
				t.Errorf("carried %v: the contrary %s: %v", carried, payload, err)
			}
		}
	}
}

// TestWhatCannotBeCarriedIsNotTaken: if a decision cannot be sent to the backend, Holdpoint must
// refuse it at once.
func TestWhatCannotBeCarriedIsNotTaken(t *testing.T) {
	refusing := &fakeDialect{begin: func(r *translate.Request) (translate.Out, error) {
		if slices.ContainsFunc(r.Answers, func(a agui.Answer) bool { return string(a.Payload) == `"unsayable"` }) {
			return translate.Out{}, agui.Errorf(agui.InvalidPayload, "the backend cannot be told")
		}
		return translate.Out{}, nil
	}}
	d := newDeskRig(t, nil, func(o *Options) { o.Dialect = refusing })
	before := d.record()
	for name, c := range map[string]struct {
		words []door.Decision
		code  agui.Code
		err   error
	}{
		"a payload that does not fit":        {[]door.Decision{d.says("x", `{"approved":"yes"}`)}, agui.InvalidPayload, nil},
		"beside one that does":               {[]door.Decision{d.says("y", "1"), d.says("x", `"true"`)}, agui.InvalidPayload, nil},
		"what the backend cannot be told":    {[]door.Decision{d.says("x", saysYes), d.says("y", `"unsayable"`)}, agui.InvalidPayload, nil},
		"a question that there is not":       {[]door.Decision{{Question: "z", Status: agui.Cancelled}}, agui.UnknownInterruptID, nil},
		"a question of the backend's own id": {[]door.Decision{{Question: "x", Status: agui.Cancelled}}, agui.UnknownInterruptID, nil},
	} {
		err := d.decides(c.words...)
		var refused *agui.RunError
		if !errors.As(err, &refused) || refused.Code != c.code {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := d.h.Decide(t.Context(), d.key, "another", maria, []door.Decision{d.says("y", "1")}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("another pause: %v", err)
	}
	if rec := d.record(); rec.Pause.Decisions != nil || rec.State != before.State || d.called() != 1 {
		t.Errorf("%+v, %d calls", rec.Pause.Decisions, d.called())
	}
	// The decision on y alone is accepted. Holdpoint judges the decision on x together with it, and
	// both together cannot be sent.
	d.decide(d.says("y", `"unsayable"`))
	if err := d.decides(d.says("x", saysYes)); err == nil {
		t.Error("taken, and it can never be sent")
	}
}

// TestChatBesideTheDesk checks what a chat sees of the desk's decisions, and which of these
// decisions the requests of the chat send to the backend.
func TestChatBesideTheDesk(t *testing.T) {
	again := func(w http.ResponseWriter, n int) {
		if n == 2 {
			sendStream(w, streamOf(started, `{"type":"RUN_FINISHED","threadId":"t","runId":"x","outcome":{"type":"interrupt","interrupts":[{"id":"z","reason":"confirmation"}]}}`))
			return
		}
		sendStream(w, streamOf(started, finished))
	}
	const ends, toldAgain = "RUN_STARTED TEXT_MESSAGE_CHUNK RUN_FINISHED", "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED+interrupt"
	for name, c := range map[string]struct {
		then      func(w http.ResponseWriter, n int)
		decided   []string // questions and payloads in turn
		request   func(d *deskRig) string
		types     string
		calls     int
		delivered string
		open      string // native ids of the questions that the client gets
	}{
		"a part, a reload": {nil, []string{"x", saysYes}, func(d *deskRig) string { return input("t", "r2", "") }, toldAgain, 1, "", "y"},
		"a part, and the rest in the chat": {nil, []string{"x", saysYes}, func(d *deskRig) string { return input("t", "r2", resumeWith(yes(d.id("y")))) },
			ends, 2, "x resolved " + saysYes + ", y resolved true", ""},
		"a part, and all in the chat, otherwise": {nil, []string{"x", saysYes}, func(d *deskRig) string { return input("t", "r2", resumeWith(no(d.id("x")), no(d.id("y")))) },
			"RUN_STARTED RUN_FINISHED+interrupt RUN_ERROR:RESUME_CONFLICT", 1, "", "y"},
		"a part, and nothing of the rest": {nil, []string{"y", "1"}, func(d *deskRig) string { return input("t", "r2", `,"resume":[]`) },
			"RUN_STARTED RUN_FINISHED+interrupt RUN_ERROR:PARTIAL_RESUME", 1, "", "x"},
		"all, a reload carries it": {nil, []string{"x", saysYes, "y", ""}, func(d *deskRig) string { return input("t", "r2", "") },
			ends, 2, "x resolved " + saysYes + ", y cancelled ", ""},
		"all, the same answers carry it": {nil, []string{"x", saysYes, "y", ""}, func(d *deskRig) string {
			return input("t", "r2", resumeWith(`{"interruptId":"`+d.id("x")+`","status":"resolved","payload":{"approved":true}}`, no(d.id("y"))))
		}, ends, 2, "x resolved " + saysYes + ", y cancelled ", ""},
		"all, other answers do not": {nil, []string{"x", saysYes, "y", ""}, func(d *deskRig) string { return input("t", "r2", resumeWith(no(d.id("x")), no(d.id("y")))) },
			"RUN_STARTED RUN_FINISHED RUN_ERROR:RESUME_CONFLICT", 1, "", ""},
		"all, a new message carries it": {nil, []string{"x", saysNo, "y", "2"}, func(d *deskRig) string {
			return `{"threadId":"t","runId":"r2","messages":[` + oldUser + `,{"id":"u2","role":"user","content":"well?"}]}`
		}, ends, 2, "x resolved " + saysNo + ", y resolved 2", ""},
		"all, and the run asks again": {again, []string{"x", saysYes, "y", ""}, func(d *deskRig) string { return input("t", "r2", "") },
			toldAgain, 2, "x resolved " + saysYes + ", y cancelled ", "z"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDeskRig(t, c.then)
			var words []door.Decision
			for n := 0; n < len(c.decided); n += 2 {
				words = append(words, d.says(c.decided[n], c.decided[n+1]))
			}
			d.decide(words...)
			got := d.do(c.request(d))
			wantTypes(t, got, c.types)
			if d.called() != c.calls {
				t.Fatalf("%d calls, want %d", d.called(), c.calls)
			}
			if c.calls > 1 && d.delivered(2) != c.delivered {
				t.Errorf("delivered %s, want %s", d.delivered(2), c.delivered)
			}
			var open []string
			for _, ev := range dataIn(got) {
				for _, i := range ev.Get("outcome.interrupts.#.id").Array() {
					native, _, _ := strings.Cut(i.Str, "~")
					open = append(open, native)
				}
			}
			if strings.Join(open, " ") != c.open {
				t.Errorf("told %v, want %s", open, c.open)
			}
		})
	}
}

// TestReloadWhileItIsCarried: while Holdpoint sends a decision to the backend, the chat is
// reloaded. The reload must wait for the end of the run with the decision, and get this end.
func TestReloadWhileItIsCarried(t *testing.T) {
	release, there := make(chan struct{}), make(chan struct{})
	d := newDeskRig(t, func(w http.ResponseWriter, n int) {
		if n == 2 {
			close(there)
			<-release
		}
		sendStream(w, streamOf(started, finished))
	})
	d.decide(d.says("x", saysYes), d.says("y", ""))
	var all sync.WaitGroup
	all.Go(d.carry)
	<-there
	answers := make(chan string, 1)
	all.Go(func() { answers <- d.do(input("t", "r2", resumeWith(no(d.id("y"))))) })
	select {
	case got := <-answers:
		t.Errorf("it did not wait: %s", got)
	default:
	}
	close(release)
	all.Wait()
	wantTypes(t, <-answers, "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED")
	if d.called() != 2 {
		t.Errorf("%d calls", d.called())
	}
}

// TestWhyAnAnswerWaitsForTheChat: Holdpoint lacks something that it needs to send a decision to the
// backend, such as credentials. The desk must show what is missing before anybody decides, and
// Holdpoint may not send anything without it.
func TestWhyAnAnswerWaitsForTheChat(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(o *Options)
		request func(d *deskRig) (string, http.Header)
		want    []agui.ChatOnlyReason
	}{
		"nothing is missing": {nil, nil, nil},
		"credentials": {nil, func(*deskRig) (string, http.Header) {
			return input("u", "r1", ""), http.Header{"Authorization": {"Bearer x"}}
		}, []agui.ChatOnlyReason{agui.NoCredentials}},
		"an API key": {nil, func(*deskRig) (string, http.Header) {
			return input("u", "r1", ""), http.Header{"X-Api-Key": {"x"}}
		}, []agui.ChatOnlyReason{agui.NoCredentials}},
		"others in their place": {func(o *Options) {
			o.OtherDoors.Headers = func() http.Header { return http.Header{"Authorization": {"Bearer ours"}} }
		}, func(*deskRig) (string, http.Header) {
			return input("u", "r1", ""), http.Header{"Authorization": {"Bearer x"}}
		}, nil},
		"tools": {nil, func(*deskRig) (string, http.Header) {
			return input("u", "r1", `,"tools":[{"name":"pick"}]`), nil
		}, []agui.ChatOnlyReason{agui.NoTools}},
		"tools that nobody calls": {func(o *Options) { o.OtherDoors.Tools = true }, func(*deskRig) (string, http.Header) {
			return input("u", "r1", `,"tools":[{"name":"pick"}]`), nil
		}, nil},
		"the store is not sealed":         {func(o *Options) { o.OtherDoors.KeepsInput = false }, nil, []agui.ChatOnlyReason{agui.NoInput}},
		"a store that may forget a claim": {func(o *Options) { o.OtherDoors.StoreMayForget = func() bool { return true } }, nil, []agui.ChatOnlyReason{agui.NoStore}},
		"a large input": {nil, func(*deskRig) (string, http.Header) {
			return input("u", "r1", `,"context":["`+strings.Repeat("x", maxInputKept)+`"]`), nil
		}, []agui.ChatOnlyReason{agui.NoInput}},
		"messages that are not known":      {func(o *Options) { o.TranscriptBytes = 1 }, nil, []agui.ChatOnlyReason{agui.NoMessages}},
		"a client that is told no outcome": {func(o *Options) { o.Client = ClientNative }, nil, []agui.ChatOnlyReason{agui.NoForm}},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, func(w http.ResponseWriter, _ *http.Request, n int) {
				if n == 1 {
					sendStream(w, streamOf(started, asksXY))
					return
				}
				sendStream(w, streamOf(started, finished))
			}, func(o *Options) {
				o.OtherDoors = &OtherDoors{KeepsInput: true}
				if c.change != nil {
					c.change(o)
				}
			})
			d := &deskRig{rig: g, key: recordKey("/", "u")}
			body, header := input("u", "r1", ""), http.Header(nil)
			if c.request != nil {
				body, header = c.request(d)
			}
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, g.front.URL, strings.NewReader(body))
			for name, values := range header {
				req.Header[name] = values
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if got := d.h.ChatOnlyReasons(d.record().Pause); !slices.Equal(got, c.want) {
				t.Fatalf("lacks %v, want %v", got, c.want)
			}
			d.decide(d.says("x", saysYes), d.says("y", "1"))
			err = d.h.Carry(t.Context(), d.key)
			if carried := c.want == nil; carried != (err == nil) || !carried && !errors.Is(err, door.ErrChat) || carried != (d.called() == 2) {
				t.Errorf("%v, %d calls", err, d.called())
			}
			if name == "others in their place" && d.heads[1].Get("Authorization") != "Bearer ours" {
				t.Errorf("sent with %v", d.heads[1])
			}
			if strings.Contains(fmt.Sprint(d.heads[len(d.heads)-1]), "Bearer x") && c.want == nil {
				t.Error("the client's credentials were kept")
			}
		})
	}
}

// TestGivenBackWithItsDecisions: the backend does not accept Holdpoint's own request. The pause
// must stay open with its decisions, and the next request of the chat must send them.
func TestGivenBackWithItsDecisions(t *testing.T) {
	d := newDeskRig(t, func(w http.ResponseWriter, n int) {
		if n == 2 {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		sendStream(w, streamOf(started, finished))
	})
	d.decide(d.says("x", saysYes), d.says("y", ""))
	d.carry()
	if rec := d.record(); rec.State != store.Open || !rec.Pause.Decided() || d.called() != 2 {
		t.Fatalf("%d calls, %+v", d.called(), rec)
	}
	wantTypes(t, d.do(input("t", "r2", "")), "RUN_STARTED RUN_FINISHED")
	if d.called() != 3 || d.delivered(3) != "x resolved "+saysYes+", y cancelled " {
		t.Errorf("%d calls, %s", d.called(), d.delivered(3))
	}
}

// TestOldClientIsShownTheNextQuestion: a run that Holdpoint itself started asks a question. A
// client that reads only the CUSTOM event must get this question.
func TestOldClientIsShownTheNextQuestion(t *testing.T) {
	d := newDeskRig(t, func(w http.ResponseWriter, n int) {
		sendStream(w, streamOf(started, `{"type":"RUN_FINISHED","threadId":"t","runId":"x","outcome":{"type":"interrupt","interrupts":[{"id":"z","reason":"confirmation"}]}}`))
	}, func(o *Options) { o.Client = ClientAuto })
	d.decide(d.says("x", saysYes), d.says("y", ""))
	d.carry()
	got := d.do(input("t", "r2", ""))
	if !strings.Contains(got, `"name":"on_interrupt"`) || !strings.Contains(got, d.id("z")) || d.called() != 2 {
		t.Errorf("%d calls: %s", d.called(), got)
	}
}

// TestStoreStumblesWhileItIsDecided: if the store fails to record a decision, Decide must return an
// error.
func TestStoreStumblesWhileItIsDecided(t *testing.T) {
	d := newDeskRig(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.h.Decide(ctx, d.key, d.pauses()[0].ID, maria, []door.Decision{d.says("y", "1")}); err == nil {
		t.Error("no error")
	}
	if d.record().Pause.Decisions != nil {
		t.Error("it stands")
	}
}

// TestChatThatHasMissedTheEnd: Holdpoint sent a decision without the chat, and then the chat comes
// back with an outdated history. Holdpoint must not call the backend without need, and must never
// send it the outdated history.
func TestChatThatHasMissedTheEnd(t *testing.T) {
	d := newDeskRig(t, func(w http.ResponseWriter, n int) {
		id := fmt.Sprint("m", n)
		sendStream(w, streamOf(started, `{"type":"STATE_SNAPSHOT","snapshot":{"n":2}}`, strings.ReplaceAll(hello, "m1", id), finished))
	})
	d.decide(d.says("x", saysYes), d.says("y", ""))
	d.carry()
	with := func(run string, messages ...string) string {
		return `{"threadId":"t","runId":"` + run + `","state":{"n":1},"messages":[` + strings.Join(messages, ",") + `]}`
	}
	const renamed, fresh = `{"id":"other","role":"assistant","content":"hello"}`, `{"id":"u2","role":"user","content":"and now?"}`
	const told = "RUN_STARTED STATE_SNAPSHOT MESSAGES_SNAPSHOT RUN_FINISHED"
	for n := range 2 {
		wantTypes(t, d.do(with(fmt.Sprint("r2", n), oldUser)), told)
	}
	// Holdpoint must send no MESSAGES_SNAPSHOT here. It would delete the renamed message at the
	// client, because nothing shows that this is a message of the record under another id.
	wantTypes(t, d.do(with("r3", oldUser, renamed)), "RUN_STARTED STATE_SNAPSHOT RUN_FINISHED")
	if d.called() != 2 {
		t.Fatalf("%d calls: the backend had nothing to do", d.called())
	}
	got := d.do(with("r4", oldUser, renamed, fresh))
	wantTypes(t, got, "RUN_STARTED STATE_SNAPSHOT MESSAGES_SNAPSHOT MESSAGES_SNAPSHOT STATE_SNAPSHOT TEXT_MESSAGE_CHUNK RUN_FINISHED")
	const whole = `["u1","m1","m2","u2"]`
	if ids := gjson.GetBytes(d.calls[2], "messages.#.id").Raw; ids != whole {
		t.Errorf("the backend got %s", ids)
	}
	if state := gjson.GetBytes(d.calls[2], "state").Raw; state != `{"n":2}` {
		t.Errorf("the backend got the state %s", state)
	}
	// A client appends messages that it does not have yet. So the first snapshot must have the
	// missed messages, but not the new message.
	shown := ""
	for _, ev := range dataIn(got) {
		if ev.Get("messages").Exists() {
			shown += ev.Get("messages.#.id").Raw
		}
	}
	if shown != `["u1","m1","m2"]`+whole {
		t.Errorf("the client is shown %s", shown)
	}
	// The client has got the missed messages. Holdpoint does not check whether it keeps them.
	if d.record().Results[0].EndUnseen {
		t.Error("it is not noted")
	}
	wantTypes(t, d.do(with("r5", oldUser, fresh)), "RUN_STARTED STATE_SNAPSHOT TEXT_MESSAGE_CHUNK RUN_FINISHED")
	if ids := gjson.GetBytes(d.calls[3], "messages.#.id").Raw; ids != `["u1","u2"]` {
		t.Errorf("the backend got %s", ids)
	}
}

// TestChatThatTookTheSnapshot: a chat has missed messages and got them in a snapshot. After that,
// its thread must work as usual.
func TestChatThatTookTheSnapshot(t *testing.T) {
	d := newDeskRig(t, func(w http.ResponseWriter, n int) {
		sendStream(w, streamOf(started, strings.ReplaceAll(hello, "m1", fmt.Sprint("m", n)), finished))
	})
	d.decide(d.says("x", saysYes), d.says("y", ""))
	d.carry()
	got := d.do(input("t", "r2", ""))
	messages := ""
	for _, ev := range dataIn(got) {
		if m := ev.Get("messages"); m.Exists() {
			messages = m.Raw
		}
	}
	wantTypes(t, d.do(`{"threadId":"t","runId":"r3","messages":`+messages+`}`), "RUN_STARTED TEXT_MESSAGE_CHUNK RUN_FINISHED")
	if d.called() != 3 {
		t.Errorf("%d calls", d.called())
	}
}

// TestDecidedAndNotToBeHandedOn: the desk has decided, but the chat's own history prevents that the
// request of the chat sends the decision. The chat cannot undo the decision either. The chat must
// be told this. If it sends a new message, the message must reach the backend without the decision.
func TestDecidedAndNotToBeHandedOn(t *testing.T) {
	refusing := &fakeDialect{begin: func(r *translate.Request) (translate.Out, error) {
		if r.Pause.ID != "" && slices.ContainsFunc(r.Input.Messages, func(m agui.Message) bool { return m.ID == "odd" }) {
			return translate.Out{}, agui.Errorf(agui.ApprovalUncertain, "the history is odd")
		}
		return translate.Out{}, nil
	}}
	d := newDeskRig(t, nil, func(o *Options) { o.Dialect = refusing })
	d.decide(d.says("x", saysYes), d.says("y", "1"))
	with := func(run string, more ...string) string {
		list := append([]string{oldUser, `{"id":"odd","role":"assistant","content":"?"}`}, more...)
		return `{"threadId":"t","runId":"` + run + `","messages":[` + strings.Join(list, ",") + `]}`
	}
	wantTypes(t, d.do(with("r2")), "RUN_STARTED RUN_FINISHED RUN_ERROR:APPROVAL_UNCERTAIN")
	if rec := d.record(); rec.State != store.Open || !rec.Pause.Decided() || d.called() != 1 {
		t.Fatalf("%d calls, %+v", d.called(), rec)
	}
	got := d.do(with("r3", `{"id":"u2","role":"user","content":"well?"}`))
	wantTypes(t, got, "RUN_STARTED TEXT_MESSAGE_CHUNK RUN_FINISHED")
	if rec := d.record(); rec.State != store.None || rec.Results[0].EndKind != store.Withdrawn || d.called() != 2 || strings.Contains(string(d.calls[1]), "answers") {
		t.Errorf("%d calls, %+v", d.called(), rec)
	}
	if !strings.Contains(got, `"refusal"`) || !strings.Contains(got, "APPROVAL_UNCERTAIN") {
		t.Errorf("the person is told nothing: %s", got)
	}
}

// TestClientThatSendsNoHistory: a client sends no history, so its history cannot be outdated. Its
// runs must go to the backend.
func TestClientThatSendsNoHistory(t *testing.T) {
	d := newDeskRig(t, func(w http.ResponseWriter, n int) {
		sendStream(w, streamOf(started, strings.ReplaceAll(hello, "m1", fmt.Sprint("m", n)), finished))
	})
	d.decide(d.says("x", saysYes), d.says("y", ""))
	d.carry()
	for n := range 2 {
		got := d.do(`{"threadId":"t","runId":"r2","messages":[],"state":{"n":5}}`)
		if d.called() != 3+n || strings.Contains(got, `"u1"`) {
			t.Errorf("%d calls: %s", d.called(), got)
		}
	}
	if !d.record().Results[0].EndUnseen {
		t.Error("the chat has not caught up by that")
	}
}

package proxy

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/principal"
	"holdpoint/store"
)

const (
	ringOld = "11111111111111111111111111111111"
	ringNew = "22222222222222222222222222222222"
)

// A gated has the options of a Gate. The Gate reads the principal from a header.
type gated struct {
	peers, ring, tenant string
	ownThreads          bool
}

// by returns a function that changes Options so that Holdpoint reads the principal from the header
// X-User.
func (g gated) by(t *testing.T) func(*Options) {
	t.Helper()
	if g.peers == "" {
		g.peers = "127.0.0.0/8;::1"
	}
	if g.ring == "" {
		g.ring = ringOld
	}
	peers, err := principal.ParsePeers(g.peers)
	if err != nil {
		t.Fatal(err)
	}
	ring, err := principal.ParseRing(g.ring)
	if err != nil {
		t.Fatal(err)
	}
	return func(o *Options) {
		o.Gate = principal.New(principal.Options{Peers: peers, PrincipalHeader: "X-User", TenantHeader: g.tenant, Keys: ring, OwnThreads: g.ownThreads})
	}
}

// as posts a run of this user, and returns the stream. If user is "", the request has no X-User.
func (g *rig) as(user, body string, more ...string) string {
	g.t.Helper()
	status, got := g.ask(user, body, more...)
	if status != http.StatusOK {
		g.t.Fatalf("%s: status %d: %s", user, status, got)
	}
	return got
}

// ask does what as does, and also returns the status. more contains names of headers, each followed
// by its value.
func (g *rig) ask(user, body string, more ...string) (int, string) {
	g.t.Helper()
	req, err := http.NewRequestWithContext(g.t.Context(), http.MethodPost, g.front.URL+"/", strings.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if user != "" {
		req.Header.Set("X-User", user)
	}
	for n := 0; n+1 < len(more); n += 2 {
		req.Header[more[n]] = append(req.Header[more[n]], more[n+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		g.t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		g.t.Fatalf("the stream did not end cleanly: %v\n%s", err, got)
	}
	return res.StatusCode, string(got)
}

// interruptID returns the id of the first question of a stream.
func interruptID(t *testing.T, s string) string {
	t.Helper()
	for block := range strings.SplitSeq(s, "\n\n") {
		data, _ := strings.CutPrefix(block, "data: ")
		if id := gjson.Get(data, "outcome.interrupts.0.id").Str; id != "" {
			return id
		}
	}
	t.Fatalf("nothing is asked:\n%s", s)
	return ""
}

// asksInTheFirst is a backend that asks in the first run. All other runs end normally.
func asksInTheFirst(w http.ResponseWriter, _ *http.Request, n int) {
	if n == 1 {
		sendStream(w, streamOf(started, hello, asks))
		return
	}
	sendStream(w, streamOf(started, finished))
}

// TestAnothersThread: whatever the state of a thread, a stranger's request on it must not reach the
// backend, and the stranger must learn nothing about the thread. After that, the owner must still
// be able to use the thread.
func TestAnothersThread(t *testing.T) {
	const reload = `{"threadId":"t","runId":"b","messages":[]}`
	bobs := func(id string) []string {
		return []string{
			input("t", "b", ""), reload, fmt.Sprintf(`{"threadId":"t","runId":"b","messages":[%s]}`, newUser),
			input("t", "b", resumeWith(yes(id))), input("t", "b", resumeWith(no(id))), input("t", "b", `,"resume":[]`),
			input("t", "b", resumeWith(yes("n1~nobody"))), input("t", "b", resumeWith(yes(id), yes("n1~nobody"))),
		}
	}
	for state, bring := range map[string]func(g *rig, id string){
		"open":  func(*rig, string) {},
		"ended": func(g *rig, id string) { g.as("alice", input("t", "r2", resumeWith(yes(id)))) },
		"in doubt": func(g *rig, id string) {
			key := recordKey("/", "t")
			rec, _ := g.store.Load(g.t.Context(), key, "")
			if _, err := g.store.Do(g.t.Context(), key, store.Claim{PauseID: rec.Pause.ID, Token: "token", Digest: "digest"}); err != nil {
				g.t.Fatal(err)
			}
		},
		"claimed": func(g *rig, id string) {
			key := recordKey("/", "t")
			rec, _ := g.store.Load(g.t.Context(), key, "")
			if _, err := g.store.Do(g.t.Context(), key, store.Claim{PauseID: rec.Pause.ID, Token: "token", Digest: "digest", Lease: LeaseTime}); err != nil {
				g.t.Fatal(err)
			}
		},
	} {
		t.Run(state, func(t *testing.T) {
			g := newRig(t, asksInTheFirst, gated{}.by(t))
			first := g.as("alice", input("t", "r1", ""))
			id := interruptID(t, first)
			bring(g, id)
			before, _ := g.store.Load(t.Context(), recordKey("/", "t"), "")
			called := g.called()
			for _, body := range bobs(id) {
				got := g.as("bob", body)
				answers := strings.Contains(body, `"resume":`)
				if want := "THREAD_FORBIDDEN"; !answers && types(got) != "RUN_STARTED RUN_ERROR:"+want {
					t.Errorf("%s\n%s", body, got)
				}
				if answers && !strings.Contains(types(got), "UNKNOWN_INTERRUPT_ID") {
					t.Errorf("%s\n%s", body, got)
				}
				if strings.Contains(got, "hello") || strings.Contains(got, `"interrupts"`) || strings.Contains(got, "confirmation") {
					t.Errorf("a stranger is told of the thread\n%s", got)
				}
				// The stranger must get the same response as on a thread that does not exist. The
				// test does not compare a cancel of an unknown id: on a thread that does not exist,
				// it is an empty run, so that no chat locks.
				if answers && !strings.Contains(body, "cancelled") && !strings.Contains(body, `"resume":[]`) {
					other := g.as("bob", strings.Replace(body, `"t"`, `"fresh"`, 1))
					if strings.ReplaceAll(other, `"fresh"`, `"t"`) != got {
						t.Errorf("another's thread and nobody's are told apart\n%s\n%s", got, other)
					}
				}
			}
			if g.called() != called {
				t.Errorf("the backend was called %d times by a stranger", g.called()-called)
			}
			after, _ := g.store.Load(t.Context(), recordKey("/", "t"), "")
			if after.State != before.State || after.Owner != before.Owner || len(after.Results) != len(before.Results) {
				t.Errorf("a stranger changed the record: %s to %s", before.State, after.State)
			}
			if state == "open" {
				wantTypes(t, g.as("alice", input("t", "r2", resumeWith(yes(id)))), "RUN_STARTED RUN_FINISHED")
			}
			if strings.Contains(fmt.Sprint(before.Owner), "alice") || before.Owner == "" {
				t.Errorf("owner %q", before.Owner)
			}
		})
	}
}

// TestOwnersOutliveTheConfiguration: a thread has an owner. It must stay closed to strangers, even
// if another Holdpoint without configured principals uses the same store.
func TestOwnersOutliveTheConfiguration(t *testing.T) {
	first := newRig(t, asksInTheFirst, gated{}.by(t))
	id := interruptID(t, first.as("alice", input("t", "r1", "")))
	again := func(change func(*Options)) *rig {
		return newRig(t, asksInTheFirst, func(o *Options) { o.Store = first.store }, change)
	}
	none := again(func(*Options) {})
	wantTypes(t, none.do(input("t", "r2", "")), "RUN_STARTED RUN_ERROR:THREAD_FORBIDDEN")
	if got := none.do(input("t", "r2", resumeWith(yes(id)))); !strings.Contains(types(got), "UNKNOWN_INTERRUPT_ID") || none.called() != 0 {
		t.Errorf("without principals an owned thread is open\n%s", got)
	}
	// With only a new key in the ring, every user is a stranger. With the old key too, Holdpoint
	// recognizes the owner.
	alone := again(gated{ring: ringNew}.by(t))
	wantTypes(t, alone.as("alice", input("t", "r2", "")), "RUN_STARTED RUN_ERROR:THREAD_FORBIDDEN")
	rotated := again(gated{ring: ringNew + ";" + ringOld}.by(t))
	wantTypes(t, rotated.as("bob", input("t", "r2", "")), "RUN_STARTED RUN_ERROR:THREAD_FORBIDDEN")
	wantTypes(t, rotated.as("alice", input("t", "r2", resumeWith(yes(id)))), "RUN_STARTED TEXT_MESSAGE_CHUNK MESSAGES_SNAPSHOT RUN_FINISHED+interrupt")
	rec, _ := first.store.Load(t.Context(), recordKey("/", "t"), "")
	if old := rec.Owner; old == "" {
		t.Error("the thread has lost its owner")
	}
	// A thread began under the new key. Its record knows its owner only by the new key.
	rotated.as("alice", input("t2", "r1", ""))
	wantTypes(t, alone.as("alice", input("t2", "r2", "")), "RUN_STARTED TEXT_MESSAGE_CHUNK MESSAGES_SNAPSHOT RUN_FINISHED+interrupt")
	// A replica must have the new key before another one uses it first, see docs/principals.md.
	late := again(gated{ring: ringOld}.by(t))
	wantTypes(t, late.as("alice", input("t2", "r3", "")), "RUN_STARTED RUN_ERROR:THREAD_FORBIDDEN")
	prepared := again(gated{ring: ringOld + ";" + ringNew}.by(t))
	wantTypes(t, prepared.as("alice", input("t2", "r3", "")), "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED+interrupt") // the question again
}

// passesUnderscores makes Holdpoint accept headers with an underscore in their name. It is for
// tests of properties that must hold even if Holdpoint does not refuse such headers.
func passesUnderscores(o *Options) { o.Underscores = UnderscoresPass }

func TestWhoIsNotKnownIsRefused(t *testing.T) {
	quiet := func(w http.ResponseWriter, _ *http.Request, _ int) { sendStream(w, streamOf(started, finished)) }
	g := newRig(t, quiet, gated{tenant: "X-Tenant"}.by(t), passesUnderscores)
	far := newRig(t, quiet, gated{peers: "203.0.113.0/24", tenant: "X-Tenant"}.by(t))
	for name, tt := range map[string]struct {
		g      *rig
		user   string
		more   []string
		status int
	}{
		"both":                        {g, "alice", []string{"X-Tenant", "t"}, 200},
		"both, named in Connection":   {g, "alice", []string{"X-Tenant", "t", "Connection", "X-User", "Connection", "X-Tenant"}, 200},
		"no user":                     {g, "", []string{"X-Tenant", "t"}, 401},
		"no tenant":                   {g, "alice", nil, 401},
		"two users":                   {g, "alice", []string{"X-Tenant", "t", "X-User", "bob"}, 400},
		"two tenants":                 {g, "alice", []string{"X-Tenant", "t", "X-Tenant", "u"}, 400},
		"another spelling":            {g, "", []string{"X-Tenant", "t", "X_User", "alice"}, 401},
		"from an untrusted peer":      {far, "alice", []string{"X-Tenant", "t"}, 403},
		"a tenant from such a peer":   {far, "", []string{"X-Tenant", "t"}, 403},
		"nothing, from such a peer":   {far, "", nil, 401},
		"X-Forwarded-For proves none": {far, "alice", []string{"X-Tenant", "t", "X-Forwarded-For", "203.0.113.1"}, 403},
	} {
		before := tt.g.called()
		status, got := tt.g.ask(tt.user, input("t-"+strings.ReplaceAll(name, " ", "-"), "r", ""), tt.more...)
		if status != tt.status || status != 200 && tt.g.called() != before {
			t.Errorf("%s: %d %s", name, status, got)
		}
	}
	if logs := far.logs.String(); !strings.Contains(logs, "level=WARN msg=\"request refused\" status=403") || strings.Contains(logs, "alice") {
		t.Errorf("what the log says of a forged header:\n%s", logs)
	}
	// A request that is not a run must also name its sender. A browser's preflight is the
	// exception, because it cannot name a sender.
	for _, tt := range []struct {
		method, header, value string
		status                int
	}{
		{http.MethodGet, "Accept", "*/*", 401},
		{http.MethodOptions, "Access-Control-Request-Method", "POST", 200},
		{http.MethodOptions, "X-User", "alice", 401}, // it names no tenant, and is not a preflight
	} {
		req, _ := http.NewRequestWithContext(t.Context(), tt.method, g.front.URL+"/info", nil)
		req.Header.Set(tt.header, tt.value)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != tt.status {
			t.Errorf("%s %s: %d", tt.method, tt.header, res.StatusCode)
		}
	}
}

// TestTheBackendIsToldWho: the backend must get the header of the principal unchanged, and no
// header whose name is another spelling of it.
func TestTheBackendIsToldWho(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, _ *http.Request, _ int) { sendStream(w, streamOf(started, finished)) }, gated{}.by(t), passesUnderscores)
	g.as("alice", input("t", "r", ""), "Connection", "X-User", "X_User", "bob", "X.User", "bob", "x_USER", "bob")
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, g.front.URL+"/info", nil)
	req.Header = http.Header{"X-User": {"alice"}, "Connection": {"X-User"}, "X_User": {"bob"}}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if len(g.heads) != 2 {
		t.Fatalf("%d calls", len(g.heads))
	}
	for n, head := range g.heads {
		if !slices.Equal(head["X-User"], []string{"alice"}) {
			t.Errorf("call %d: X-User is %q", n, head["X-User"])
		}
		for name, values := range head {
			if slices.Contains(values, "bob") {
				t.Errorf("call %d: %s is %q", n, name, values)
			}
		}
	}
}

// TestTenantsAndAgentsAreApart: two tenants have threads with the same id, and so do two named
// agents on the same store. Each of these threads must be separate from the others.
func TestTenantsAndAgentsAreApart(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, _ *http.Request, _ int) { sendStream(w, streamOf(started, asks)) }, gated{tenant: "X-Tenant"}.by(t))
	one := interruptID(t, g.as("alice", input("t", "r1", ""), "X-Tenant", "one"))
	two := g.as("bob", input("t", "r1", ""), "X-Tenant", "two")
	if interruptID(t, two) == one || g.called() != 2 {
		t.Errorf("a tenant is told the question of another\n%s", two)
	}
	if got := g.as("bob", input("t", "r2", resumeWith(yes(one))), "X-Tenant", "two"); !strings.Contains(types(got), "UNKNOWN_INTERRUPT_ID") {
		t.Errorf("a tenant answers another's question\n%s", got)
	}
	if got := g.as("alice", input("t", "r2", ""), "X-Tenant", "two"); !strings.Contains(types(got), "THREAD_FORBIDDEN") {
		t.Errorf("a user of another tenant is the same one\n%s", got)
	}

	named := func(name string, s store.Store) *rig {
		return newRig(t, asksInTheFirst, func(o *Options) {
			o.Agent = name
			if s != nil {
				o.Store = s
			}
		})
	}
	mail := named("mail", nil)
	id := interruptID(t, mail.do(input("t", "r1", "")))
	files := named("files", mail.store)
	if got := files.do(input("t", "r1", resumeWith(yes(id)))); !strings.Contains(types(got), "UNKNOWN_INTERRUPT_ID") {
		t.Errorf("an agent takes the answer to another's question\n%s", got)
	}
	if again := named("mail", mail.store).do(input("t", "r2", "")); interruptID(t, again) != id {
		t.Errorf("the same agent does not know its question\n%s", again)
	}
}

// TestThreadsOfAPrincipal: if HOLDPOINT_THREAD_NAMESPACE is "principal", the backend must get a
// different thread id for each principal. No client may learn such an id.
func TestThreadsOfAPrincipal(t *testing.T) {
	var ids []string
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, _ int) {
		body, _ := io.ReadAll(r.Body)
		id := gjson.GetBytes(body, "threadId").Str
		ids = append(ids, id)
		echo := bytes.ReplaceAll(body, []byte("\n"), nil)
		begin := fmt.Sprintf(`{"type":"RUN_STARTED","threadId":%q,"runId":"x","input":%s}`, id, echo)
		end := fmt.Sprintf(`{"type":"RUN_FINISHED","threadId":%q,"runId":"x"`, id)
		if gjson.GetBytes(body, "answers").Exists() {
			sendStream(w, streamOf(begin, end+`}`))
			return
		}
		// The stream contains a second run, which asks a question.
		sendStream(w, streamOf(begin, hello, end+`}`, begin, end+`,"outcome":{"type":"interrupt","interrupts":[{"id":"n1","reason":"confirmation"}]}}`))
	}, gated{ownThreads: true}.by(t))
	alice := g.as("alice", input("t", "r1", ""))
	bob := g.as("bob", input("t", "r1", ""))
	wantTypes(t, bob, "RUN_STARTED TEXT_MESSAGE_CHUNK RUN_FINISHED RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED+interrupt")
	if len(ids) != 2 || ids[0] == ids[1] || slices.Contains(ids, "t") {
		t.Fatalf("the backend has the threads %q", ids)
	}
	wantTypes(t, g.as("bob", input("t", "r2", resumeWith(yes(interruptID(t, alice))))), "RUN_STARTED RUN_FINISHED+interrupt RUN_ERROR:UNKNOWN_INTERRUPT_ID")
	resumed := g.as("alice", input("t", "r2", resumeWith(yes(interruptID(t, alice)))))
	wantTypes(t, resumed, "RUN_STARTED RUN_FINISHED")
	if len(ids) != 3 || ids[2] != ids[0] {
		t.Errorf("the resume went to the thread %q", ids[2:])
	}
	for _, got := range []string{alice, bob, resumed} {
		if strings.Contains(got, ids[0]) || strings.Contains(got, ids[1]) {
			t.Errorf("a client sees the backend's id of a thread\n%s", got)
		}
		if n := strings.Count(got, `"threadId":"t"`); n < 2 {
			t.Errorf("the client's own id stands there %d times\n%s", n, got)
		}
	}
	if logs := g.logs.ended(t, 4); strings.Contains(logs, "thread_id="+ids[0]) || !strings.Contains(logs, "thread_id=t ") {
		t.Error("the log names the thread otherwise than the client")
	}
}

// TestAGuessedThreadID: principals are not configured, and somebody guesses the id of a thread.
// This person can see and answer the open question of the thread, but must get nothing else of it.
func TestAGuessedThreadID(t *testing.T) {
	const guess = `{"threadId":"t","runId":"g","messages":[]%s}`
	g := newRig(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		if n == 1 {
			sendStream(w, streamOf(started, `{"type":"TEXT_MESSAGE_CHUNK","messageId":"m1","role":"assistant","delta":"the secret"}`,
				`{"type":"STATE_SNAPSHOT","snapshot":{"pin":"the secret"}}`, asks))
			return
		}
		sendStream(w, streamOf(started, `{"type":"STATE_DELTA","delta":[{"op":"add","path":"/more","value":1}]}`, asks))
	})
	first := g.do(input("t", "r1", ""))
	told := func(name, body, want string) string {
		t.Helper()
		got := g.do(body)
		if strings.Contains(got, "secret") || types(got) != want {
			t.Errorf("%s: %s\n%s", name, types(got), got)
		}
		return got
	}
	told("a reload", fmt.Sprintf(guess, ""), "RUN_STARTED RUN_FINISHED+interrupt")
	told("a message of another thread", fmt.Sprintf(strings.Replace(guess, "[]", "[%s]", 1), newUser, ""), "RUN_STARTED RUN_FINISHED+interrupt RUN_ERROR:PENDING_INTERRUPTS")
	told("a wrong answer", fmt.Sprintf(guess, resumeWith(yes("n1~nobody"))), "RUN_STARTED RUN_FINISHED+interrupt RUN_ERROR:UNKNOWN_INTERRUPT_ID")
	id := interruptID(t, first)
	next := told("an answer", fmt.Sprintf(guess, resumeWith(yes(id))), "RUN_STARTED STATE_DELTA RUN_FINISHED+interrupt")
	told("the same answer again", fmt.Sprintf(guess, resumeWith(yes(id))), "RUN_STARTED RUN_FINISHED+interrupt")
	// If a client sends a message of the thread, it gets the other messages and the state of the
	// thread. So does a later resume.
	reloaded := g.do(input("t", "r3", ""))
	if !strings.Contains(reloaded, `"pin":"the secret"`) || !strings.Contains(reloaded, `"more":1`) {
		t.Errorf("the state was lost with the guess\n%s", reloaded)
	}
	last := g.do(input("t", "r4", resumeWith(yes(interruptID(t, next)))))
	if !strings.Contains(last, "STATE_SNAPSHOT") || !strings.Contains(last, "MESSAGES_SNAPSHOT") || !strings.Contains(last, "the secret") {
		t.Errorf("who holds a message is not shown the thread\n%s", last)
	}
}

// TestAnOwnerNeedsNoMessage: principals are configured. The owner of a thread must get its
// messages, even if the request has no message of the thread.
func TestAnOwnerNeedsNoMessage(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, _ *http.Request, n int) { sendStream(w, streamOf(started, hello, asks)) }, gated{}.by(t))
	id := interruptID(t, g.as("alice", input("t", "r1", "")))
	wantTypes(t, g.as("alice", `{"threadId":"t","runId":"r2","messages":[]`+resumeWith(yes(id))+"}"), "RUN_STARTED TEXT_MESSAGE_CHUNK MESSAGES_SNAPSHOT RUN_FINISHED+interrupt")
}

// TestOutageWithPrincipals: while the store is away, Holdpoint cannot know the owner of a thread.
// So it must refuse the runs of the thread. If it derives the backend's thread id from the
// principal, it must allow them.
func TestOutageWithPrincipals(t *testing.T) {
	for name, tt := range map[string]struct {
		gate gated
		want string
	}{
		"threads of everybody": {gated{}, "RUN_STARTED RUN_ERROR:STORE_UNAVAILABLE"},
		"threads of one's own": {gated{ownThreads: true}, "RUN_STARTED RUN_FINISHED"},
	} {
		down := &downStore{load: true}
		g := newRig(t, func(w http.ResponseWriter, _ *http.Request, _ int) { sendStream(w, streamOf(started, finished)) },
			func(o *Options) { down.Store, o.Store, o.StoreOutage = o.Store, down, OutagePass }, tt.gate.by(t))
		if got := g.as("alice", input("t", "r", "")); types(got) != tt.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

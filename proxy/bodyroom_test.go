package proxy

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdpoint/store"
	"holdpoint/store/memory"
)

// TestBodiesThatAreBeingReadAreBounded: bodies that do not end take the memory for large ones, and
// no more. Small ones have theirs, and when the others have gone a large one has room again.
func TestBodiesThatAreBeingReadAreBounded(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, _ *http.Request, _ int) { sendStream(w, streamOf(started, finished)) }, func(o *Options) { o.BodyBytes = 2 << 20 })
	large := input("t", "r", `,"forwardedProps":{"x":"`+strings.Repeat("x", 1<<20)+`"}`)
	var held []net.Conn
	var res *http.Response
	var told []byte
	// Bodies that come at once may each get a part of the memory, and none enough: all three are
	// refused then, and there is room for the fourth. That is another try.
	for try := 0; try == 0 || res.StatusCode == http.StatusOK && try < 10; try++ {
		for _, c := range held {
			c.Close()
		}
		held = held[:0]
		for range 3 {
			c, err := net.Dial("tcp", strings.TrimPrefix(g.front.URL, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(large), large[:len(large)-1])
			held = append(held, c)
		}
		var err error
		if res, err = http.Post(g.front.URL, "application/json", strings.NewReader(large)); err != nil {
			t.Fatal(err)
		}
		told, _ = io.ReadAll(res.Body)
		res.Body.Close()
	}
	if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" || !strings.Contains(string(told), "HOLDPOINT_BODY_BYTES") {
		t.Errorf("%s %v %s", res.Status, res.Header, told)
	}
	wantTypes(t, g.do(input("t", "r", "")), "RUN_STARTED RUN_FINISHED")
	for _, c := range held {
		c.Close()
	}
	for { // until it is seen that they have gone
		if status, got := post(t, g.front.URL, "application/json", large); status == http.StatusOK {
			wantTypes(t, got, "RUN_STARTED RUN_FINISHED")
			return
		} else if status != http.StatusServiceUnavailable {
			t.Fatal(status, got)
		}
	}
}

// TestBodyRoom: who waits gets what is given back, and one address no more than its share.
func TestBodyRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := &bodyRoom{limit: 1000, share: 300}
		a, b, c := &bodyHold{room: room, from: 1}, &bodyHold{room: room, from: 2}, &bodyHold{room: room}
		want := func(err error, status int) {
			t.Helper()
			var refused *requestError
			if got := errors.As(err, &refused); got != (status != 0) || got && refused.status != status {
				t.Error(err)
			}
		}
		want(a.take(t.Context(), 300), 0)
		began := time.Now()
		want(a.take(t.Context(), 1), 503)
		want((&bodyHold{room: room, from: 1}).take(t.Context(), 1), 503)
		if waited := time.Since(began); waited != 2*roomWait {
			t.Errorf("waited %v", waited)
		}
		want(b.take(t.Context(), 300), 0)
		want(c.take(t.Context(), 400), 0)
		go func() {
			time.Sleep(roomWait / 2)
			a.giveBack()
		}()
		want(c.take(t.Context(), 100), 0)
		b.giveBack()
		c.giveBack()
		c.giveBack()
		if room.taken != 0 || len(room.from) != 0 {
			t.Errorf("%+v", room)
		}
	})
}

func TestClientHash(t *testing.T) {
	h := &Handler{opts: Options{AddressShare: 10}}
	of := func(address string) uint64 { return h.clientHash(&http.Request{RemoteAddr: address}) }
	for name, c := range map[string]struct {
		a, b string
		same bool
	}{
		"ports":                    {"192.0.2.1:1", "192.0.2.1:2", true},
		"addresses":                {"192.0.2.1:1", "192.0.2.2:1", false},
		"IPv4 in IPv6":             {"192.0.2.1:1", "[::ffff:192.0.2.1]:1", true},
		"a network":                {"[2001:db8::1]:1", "[2001:db8::ffff:2]:1", true},
		"another network":          {"[2001:db8::1]:1", "[2001:db8:0:1::1]:1", false},
		"an address with a zone":   {"[fe80::1%eth0]:1", "[fe80::1%eth1]:1", true},
		"something else, and none": {"@", "", true},
	} {
		if a, b := of(c.a), of(c.b); (a == b) != c.same || (a == 0) != (c.a == "@") {
			t.Errorf("%s: %d and %d", name, a, b)
		}
	}
	if h.opts.AddressShare = 0; of("192.0.2.1:1") != 0 {
		t.Error("there are no shares")
	}
}

// TestShareOfTheStore: the pauses from one address have their share, and the refusal says so.
func TestShareOfTheStore(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, _ *http.Request, _ int) { sendStream(w, streamOf(started, asks)) }, func(o *Options) {
		o.AddressShare = 50
		o.Store = memory.New(memory.Options{Entries: 2, Share: 50})
	})
	wantTypes(t, g.do(input("a", "r", "")), "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED+interrupt")
	got := g.do(input("b", "r", ""))
	wantTypes(t, got, "RUN_STARTED RUN_ERROR:STORE_FULL")
	if !strings.Contains(got, "HOLDPOINT_ADDRESS_SHARE") {
		t.Error(got)
	}
}

// TestStrippedPauseIsResumed: a pause that lost its snapshots can be answered, and no snapshot is
// made of half of what there was.
func TestStrippedPauseIsResumed(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		if n == 1 {
			sendStream(w, streamOf(started, `{"type":"STATE_SNAPSHOT","snapshot":{"a":1}}`, asks))
			return
		}
		sendStream(w, streamOf(started, `{"type":"STATE_DELTA","delta":[{"op":"add","path":"/b","value":2}]}`, strings.ReplaceAll(asks, "n1", "n2")))
	})
	wantTypes(t, g.do(input("t", "r1", "")), "RUN_STARTED STATE_SNAPSHOT MESSAGES_SNAPSHOT RUN_FINISHED+interrupt")
	key := recordKey("/", "t")
	rec, _ := g.store.Load(t.Context(), key, "")
	p := *rec.Pause
	if err := g.store.Close(t.Context(), key, p.ID, store.Result{How: store.Withdrawn}); err != nil {
		t.Fatal(err)
	}
	p.ID, p.Messages, p.State, p.Stripped = "stripped", nil, nil, true
	if err := g.store.Open(t.Context(), key, "", p); err != nil {
		t.Fatal(err)
	}
	wantTypes(t, g.do(`{"threadId":"t","runId":"r2","messages":[`+oldUser+`],"resume":[`+yes("n1~id1")+`]}`), "RUN_STARTED STATE_DELTA MESSAGES_SNAPSHOT RUN_FINISHED+interrupt")
}

package proxy

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"holdpoint/store"
	"holdpoint/store/memory"
)

// TestBodiesThatAreBeingReadAreBounded: large request bodies that never end use all the memory for
// large bodies. They must not use more. Small bodies must still be accepted meanwhile. When the
// endless bodies have ended, a large body must be accepted again.
func TestBodiesThatAreBeingReadAreBounded(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, _ *http.Request, _ int) { sendStream(w, streamOf(started, finished)) }, func(o *Options) { o.BodyBytes = 2 << 20 })
	large := input("t", "r", `,"forwardedProps":{"x":"`+strings.Repeat("x", 1<<20)+`"}`)
	var held []net.Conn
	var res *http.Response
	var told []byte
	// If bodies arrive at the same time, each may get a part of the memory, so that none gets
	// enough. Then Holdpoint refuses all three and accepts the fourth. In this case the test tries
	// again.
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
	for { // until the server has noticed that they have ended
		if status, got := post(t, g.front.URL, "application/json", large); status == http.StatusOK {
			wantTypes(t, got, "RUN_STARTED RUN_FINISHED")
			return
		} else if status != http.StatusServiceUnavailable {
			t.Fatal(status, got)
		}
	}
}

// TestShareOfTheStore: all open pauses of one address may use only a share of the store. The
// refusal must name the setting.
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

// TestStrippedPauseIsResumed: a record keeps a pause, but the snapshots of the pause were dropped.
// The pause must still accept an answer, and the client must not get an incomplete snapshot.
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
	if _, err := g.store.Do(t.Context(), key, store.Close{PauseID: p.ID, Result: store.Result{EndKind: store.Withdrawn}}); err != nil {
		t.Fatal(err)
	}
	p.ID, p.Messages, p.State, p.LacksSnapshots = "stripped", nil, nil, true
	if _, err := g.store.Do(t.Context(), key, store.Ask{Pause: p}); err != nil {
		t.Fatal(err)
	}
	wantTypes(t, g.do(`{"threadId":"t","runId":"r2","messages":[`+oldUser+`],"resume":[`+yes("n1~id1")+`]}`), "RUN_STARTED STATE_DELTA MESSAGES_SNAPSHOT RUN_FINISHED+interrupt")
}

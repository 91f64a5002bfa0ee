package proxy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/proxy"
	"holdpoint/store"
	"holdpoint/store/memory"
	"holdpoint/store/storetest"
	"holdpoint/translate"
)

// A stage is a Holdpoint and, behind it, the scripted backend of a scenario. The bytes of the
// backend arrive by one delivery.
type stage struct {
	t       *testing.T
	s       scenario
	d       delivery
	clock   *clock
	kept    *watchedStore
	backend *backend
	ids     int
	foreign bool // the dialect's backend does not speak AG-UI

	handler http.Handler
	server  *httptest.Server // the backend, if delivery.hops is set
	front   *httptest.Server
}

func newStage(t *testing.T, s scenario, d delivery) *stage {
	t.Helper()
	st := &stage{t: t, s: s, d: d, clock: &clock{now: s.Clock}, backend: &backend{s: s, d: d}}
	st.kept = &watchedStore{Store: storetest.Sealed(t, memory.New(memory.Options{Now: st.clock.Now}))}
	if d.hops {
		st.server = httptest.NewServer(st.backend)
	}
	st.start()
	return st
}

// start makes the Holdpoint of the stage. If the stage already has a Holdpoint, start replaces it
// by a new one with the same store.
func (st *stage) start() {
	st.t.Helper()
	st.handler = st.options(func(*proxy.Options) {})
	if st.d.hops {
		if st.front != nil {
			st.front.Close()
		}
		st.front = httptest.NewServer(st.handler)
	}
}

// options returns a Handler with the scenario's options, after change has changed them.
func (st *stage) options(change func(*proxy.Options)) http.Handler {
	st.t.Helper()
	up := &url.URL{Scheme: "http", Host: "backend", Path: "/agent"}
	o := proxy.Options{Store: st.kept, Now: st.clock.Now, NewID: st.newID}
	if st.d.hops {
		up, _ = url.Parse(st.server.URL + "/agent")
	} else {
		o.Transport = st.backend
	}
	o.Upstream = up
	st.s.configure(st.t, &o)
	_, st.foreign = o.Dialect.(translate.Foreign)
	if st.foreign {
		o.Upstream.Path = ""
	}
	change(&o)
	h, err := proxy.New(o)
	if err != nil {
		st.t.Fatal(err)
	}
	return h
}

func (st *stage) close() {
	if st.d.hops {
		st.front.Close()
		st.server.Close()
	}
}

func (st *stage) newID() string {
	st.ids++
	if st.ids <= len(st.s.IDs) {
		return st.s.IDs[st.ids-1]
	}
	return fmt.Sprintf("id%d", st.ids)
}

// begin prepares the stage for a turn.
func (st *stage) begin(turn int) {
	if turn == st.s.Restart {
		st.start()
	}
	st.clock.add(st.s.Wait[turn])
	st.backend.begin(turn)
}

// post sends a run and returns the stream of its response. If the response is not a stream, post
// returns it in the format of plainAnswer.
func (st *stage) post(body []byte) []byte {
	st.t.Helper()
	var res *http.Response
	if st.d.hops {
		var err error
		if res, err = http.Post(st.front.URL+"/", "application/json", bytes.NewReader(body)); err != nil {
			st.t.Fatal(err)
		}
	} else {
		res = serve(st.handler, body)
	}
	return st.read(res)
}

func (st *stage) read(res *http.Response) []byte {
	st.t.Helper()
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		st.t.Fatalf("the stream did not end cleanly: %v", err)
	}
	if res.StatusCode != http.StatusOK {
		return httpAnswer(res, got)
	}
	if st.d.beats {
		if st.backend.streamed && !bytes.Contains(got, beat) {
			st.t.Errorf("turn %d: no comment of the backend came through", st.backend.turn)
		}
		got = bytes.ReplaceAll(got, beat, nil)
	}
	return got
}

// serve calls a handler without a socket. It compacts the body, as clients do. (Over a socket, the
// tests send the body as it is in the scenario.)
func serve(h http.Handler, body []byte) *http.Response {
	var compact bytes.Buffer
	if json.Compact(&compact, body) != nil {
		compact.Reset()
		compact.Write(body)
	}
	req := httptest.NewRequest(http.MethodPost, "/", &compact)
	req.Header.Set("Content-Type", "application/json")
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, req)
	return rec.Result()
}

// record returns the record of the thread as JSON: its open questions, and how its earlier pauses
// ended. It returns nil if the store has no record.
func (st *stage) record() []byte {
	st.t.Helper()
	if st.kept.key == "" {
		return nil
	}
	rec, err := st.kept.Store.Load(context.Background(), st.kept.key, "")
	if err != nil {
		st.t.Fatal(err)
	}
	if rec.State == store.None && len(rec.Results) == 0 {
		return nil
	}
	type question struct {
		ID     string `json:"id"`
		Native string `json:"native"`
		Reason string `json:"reason"`
	}
	kept := struct {
		Pause   string          `json:"pause"`
		Dialect string          `json:"dialect,omitempty"`
		Open    []question      `json:"interrupts,omitempty"`
		Ended   []store.EndKind `json:"ended,omitempty"` // newest first
	}{Pause: "none"}
	if rec.State != store.None {
		kept.Pause, kept.Dialect = string(rec.State), rec.Pause.Dialect
		for _, i := range rec.Pause.Interrupts {
			kept.Open = append(kept.Open, question{i.ID, i.Native, i.Reason()})
		}
	}
	for _, r := range rec.Results {
		kept.Ended = append(kept.Ended, r.EndKind)
	}
	pretty, err := indent(agui.MustMarshal(kept))
	if err != nil {
		st.t.Fatal(err)
	}
	return pretty
}

// A watchedStore remembers the key of the record that Holdpoint loads.
type watchedStore struct {
	store.Store
	key store.Key
}

func (w *watchedStore) Load(ctx context.Context, key store.Key, owner string) (store.Record, error) {
	w.key = key
	return w.Store.Load(ctx, key, owner)
}

// A clock shows the same time until a wait line of the scenario moves it.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

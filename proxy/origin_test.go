package proxy

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/internal/principal"
	"holdpoint/proxy/internal/ids"
	"holdpoint/store"
)

// TestOriginOfPause: the record of a question must have its origin, and the result of the question
// must have the answer. The digest in the event about the question must be computable from the
// record.
func TestOriginOfPause(t *testing.T) {
	h := &hearer{}
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		sendStream(w, streamOf(started, []string{asks, finished}[min(n, 2)-1]))
	}, func(o *Options) { o.Events, o.Agent = h, "billing" })
	key := ids.ThreadKey("", "billing", "/agent", "t")
	load := func() store.Record {
		t.Helper()
		rec, err := g.store.Load(t.Context(), key, "")
		if err != nil {
			t.Fatal(err)
		}
		return rec
	}
	post := func(body string) {
		t.Helper()
		req, err := http.NewRequest(http.MethodPost, g.front.URL+"/agent?key=of-the-query", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer of-the-header"}}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
	}
	post(input("t", "r1", ""))
	p := load().Pause
	if p == nil || p.Origin == nil {
		t.Fatalf("the pause has no origin: %+v", p)
	}
	want := agui.Origin{Agent: "billing", Path: "/agent", Thread: "t", Run: "r1", ShownAs: "outcome"}
	if *p.Origin != want {
		t.Errorf("origin is %+v, want %+v", *p.Origin, want)
	}
	if got, told := p.Origin.AskedDigest(&p.Interrupts[0]), h.list[0].Interrupts[0].QuestionDigest; got != told {
		t.Errorf("the record's digest is %s, the event's %s", got, told)
	}
	if text := string(agui.MustMarshal(load())); strings.Contains(text, "of-the-") {
		t.Errorf("the record keeps credentials: %s", text)
	}
	post(input("t", "r2", resumeWith(yes(p.Interrupts[0].ID))))
	results := load().Results
	if len(results) != 1 || len(results[0].GivenAnswers) != 1 {
		t.Fatalf("results: %+v", results)
	}
	switch given, told := results[0].GivenAnswers[0], h.list[1].Interrupts[0]; {
	case given.ID != p.Interrupts[0].ID, given.Status != agui.Resolved, string(given.Payload) != "true", given.Digest != told.AnswerDigest:
		t.Errorf("the result has the answer %+v, the event %+v", given, told)
	}
}

// TestRequesterAsShown: only if HOLDPOINT_SHOW_PRINCIPAL allows it, a record has the name of the
// requester. By default, the store gets no name.
func TestRequesterAsShown(t *testing.T) {
	peers, err := principal.ParsePeers("192.0.2.0/24") // the address range of httptest
	if err != nil {
		t.Fatal(err)
	}
	ring, err := principal.ParseRing(strings.Repeat("k", 32))
	if err != nil {
		t.Fatal(err)
	}
	req := httptest.NewRequest(http.MethodPost, "/agent", nil)
	req.Header.Set("X-User", "ann")
	who, refused := principal.New(principal.Options{Peers: peers, PrincipalHeader: "X-User", Keys: ring}).Identify(req, false)
	if refused != nil {
		t.Fatal(refused.Reason)
	}
	for _, shown := range []principal.NameStyle{principal.ShowHash, principal.ShowName, principal.ShowNone} {
		r := &thread{opts: &Options{ShowPrincipal: shown}, request: request{input: &agui.RunInput{}}}
		r.principal = who
		o := r.origin("")
		if name := o.Requester == "ann"; name != (shown == principal.ShowName) || (o.RequesterHash != "") != (shown == principal.ShowHash) {
			t.Errorf("%s: requester %q, hash %q", shown, o.Requester, o.RequesterHash)
		}
	}
}

// TestWireOfARecord: a record names the protocol of its client only if the protocol is not AG-UI.
// So a record of an AG-UI client must not have the member "wire". If a client of another protocol
// asked, only a client of that protocol can answer.
func TestWireOfARecord(t *testing.T) {
	d := newDeskRig(t, nil)
	p := d.record().Pause
	if text := string(agui.MustMarshal(p.Origin)); strings.Contains(text, "wire") || p.Origin.Wire != "" {
		t.Errorf("AG-UI is named: %s", text)
	}
	if lacks := d.h.ChatOnlyReasons(p); lacks != nil {
		t.Fatalf("lacks %v", lacks)
	}
	origin, other := *p.Origin, *p // the store also has this record, so the test copies it
	origin.Wire, other.Origin = "ai-sdk", &origin
	if lacks := d.h.ChatOnlyReasons(&other); !slices.Equal(lacks, []agui.ChatOnlyReason{agui.NoForm}) {
		t.Errorf("of another wire: lacks %v", lacks)
	}
}

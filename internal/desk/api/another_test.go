package api

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"testing"

	"holdpoint/store"
)

// annAndBob configures tokens for two people, Ann and Böb.
func (r *rig) annAndBob() {
	r.Helper()
	list, err := ParseTokens(fmt.Sprintf("ann sha256:%x\nB\u00f6b sha256:%x\n", sha256.Sum256([]byte("token of ann")), sha256.Sum256([]byte("token of bob"))))
	r.must(err)
	r.desk.opts.Tokens.Set(list)
}

// TestAnotherCaller: each request of the page names the person for whom the page was loaded. If
// somebody else has signed in in the same browser since, the request must do nothing in that
// person's name.
func TestAnotherCaller(t *testing.T) {
	r := inMemory(t)
	r.annAndBob()
	r.desk.opts.Agents = map[string]Agent{"billing": &agent{store: r.store}}
	r.open(1, pause(1, "refund", `{}`))
	p := pause(1, "refund", `{}`)
	approve := fmt.Sprintf(`{"decision":"approve","digest":%q}`, p.Origin.AskedDigest(&p.Interrupts[0]))
	b := r.browser()
	b.signIn("token of ann")
	b.signIn("token of bob")
	one, all := "/v1/approvals/"+id(1)+"/questions/i1", "/v1/approvals/"+id(1)
	for _, as := range [][]string{
		{callerHeader, "ann"}, {callerHeader, ""}, {callerHeader, "Bob"}, {callerHeader, "%zz"}, {callerHeader, "B%C3%B6b", callerHeader, "B%C3%B6b"},
	} {
		b.headers = as
		for _, ask := range [][3]string{
			{"POST", one, approve}, {"POST", all, `{"decisions":[` + approve + `]}`}, {"DELETE", all}, {"GET", "/v1/approvals"}, {"GET", all},
			{"GET", "/v1/me"}, {"DELETE", "/v1/session"}, {"GET", all + "/raw/i1/0"},
		} {
			if code := b.do(412, ask[0], ask[1], ask[2]).Get("code").Str; code != codeAnother {
				t.Errorf("%q %s %s: %s", as, ask[0], ask[1], code)
			}
		}
	}
	if a := r.ask(200, "GET", all, "Authorization", "Bearer token of ann"); a.Get("state").Str != "waiting" || a.Get("questions.0.decision").Exists() {
		t.Errorf("something was done: %s", a)
	}
	b.headers = []string{callerHeader, "B%C3%B6b"}
	if got := b.do(200, "POST", one, approve).Get("questions.0.decision.by").Str; got != "B\u00f6b" {
		t.Errorf("decided by %q", got)
	}
	b.headers = nil
	b.do(200, "GET", "/v1/me", "") // a program need not send the header
	// The header is also compared with the owner of a token. The header alone proves nothing.
	if code := r.ask(412, "GET", "/v1/me", "Authorization", "Bearer token of ann", callerHeader, "bob").Get("code").Str; code != codeAnother {
		t.Errorf("with a token: %s", code)
	}
	r.ask(401, "GET", "/v1/me", "Authorization", "", callerHeader, "ann")
}

// TestSignOutAndTheStore: while the store cannot be read, the desk cannot know whether a session
// was signed out. If a person signs out at that time, the desk must report that other processes of
// Holdpoint do not learn of it.
func TestSignOutAndTheStore(t *testing.T) {
	r := inMemory(t)
	r.annAndBob()
	away := &awayStore{Store: r.store}
	r.desk.opts.Store = away
	b := r.browser()
	b.signIn("token of ann")
	away.away = true
	if code := b.do(503, "GET", "/v1/me", "").Get("code").Str; code != codeStore {
		t.Errorf("the store is away: %s", code)
	}
	kept := slices.Clone(b.cookies)
	away.away = false
	b.do(200, "GET", "/v1/me", "")
	away.notes = true
	if code := b.do(503, "DELETE", "/v1/session", "").Get("code").Str; code != codeStore || len(b.cookies) != 0 {
		t.Errorf("not noted: %s, %s", code, b.cookies)
	}
	b.cookies = kept
	b.do(401, "GET", "/v1/me", "") // this process still knows that the session was signed out
}

// An awayStore is a store that can fail. If away is set, it fails to load records. If notes is set,
// it fails to save the desk's notes.
type awayStore struct {
	store.Store
	away, notes bool
}

var errAway = errors.New("away")

func (s *awayStore) Load(ctx context.Context, key store.Key, owner string) (store.Record, error) {
	if s.away {
		return store.Record{}, errAway
	}
	return s.Store.Load(ctx, key, owner)
}

func (s *awayStore) Do(ctx context.Context, key store.Key, step store.Step) (store.StepResult, error) {
	if _, notes := step.(store.Remember); notes && s.notes {
		return store.StepResult{}, errAway
	}
	return s.Store.Do(ctx, key, step)
}

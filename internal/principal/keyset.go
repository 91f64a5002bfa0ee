package principal

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	// refreshEvery is how old the keys become, so that one which the issuer has taken back goes.
	refreshEvery = 10 * time.Minute
	// refreshGap is how soon after the start of a fetch another one may start. Whoever sends tokens
	// with made-up key ids must not make Holdpoint flood the issuer.
	refreshGap = 10 * time.Second
	// fetchTime bounds one fetch.
	fetchTime = 5 * time.Second
	// maxSet and maxKeys bound a set of keys, in bytes and in number.
	maxSet, maxKeys = 1 << 20, 100
	// minRSA is how many bits an RSA key must have (RFC 7518, section 3.3).
	minRSA = 2048
)

// A keySet are the keys of an issuer. They are fetched at start, from time to time, and for a key
// id that is not known. Those that are known stay until others have come.
type keySet struct {
	url    string
	client http.Client
	now    func() time.Time
	told   func(skipped []string, err error) // of each fetch

	mu      sync.Mutex
	keys    []jose.JSONWebKey
	set     int           // counts the sets that were fetched
	failed  bool          // the last fetch did
	started time.Time     // when the last fetch did
	flight  chan struct{} // closed at the end of the fetch that is under way; nil if none is
}

func newKeySet(o TokenOptions) keySet {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableKeepAlives = true // one fetch in minutes
	return keySet{url: o.KeysURL.String(), now: o.Now, told: o.Fetched, client: http.Client{
		Transport: transport,
		// Nobody but the operator says whose keys count.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// run fetches until ctx is done.
func (s *keySet) run(ctx context.Context) {
	for {
		wait := refreshEvery
		if !s.fetchNow(ctx) {
			wait = refreshGap
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// fetchNow fetches, or waits for the fetch that is under way. It reports whether that was good.
func (s *keySet) fetchNow(ctx context.Context) bool {
	s.mu.Lock()
	ended := s.begin()
	s.mu.Unlock()
	select {
	case <-ended:
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.failed
}

// begin begins a fetch, unless one is under way. The channel is closed at its end. s.mu is held.
//
// The fetch has a context of its own: the request that began it may end before those that wait for
// it too.
func (s *keySet) begin() <-chan struct{} {
	if s.flight != nil {
		return s.flight
	}
	ended := make(chan struct{})
	s.flight, s.started = ended, s.now()
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), fetchTime)
		defer cancel()
		keys, skipped, err := s.fetch(ctx)
		if s.told != nil {
			s.told(skipped, err)
		}
		s.mu.Lock()
		if s.failed = err != nil; !s.failed {
			s.keys, s.set = keys, s.set+1
		}
		s.flight = nil
		s.mu.Unlock()
		close(ended)
	}()
	return ended
}

// keysFor returns the keys that a token with this key id and algorithm may be signed with, and the
// set that they are of. For an id that is not known the keys are fetched again, but not often.
// Without any key the error is ErrNoKeys.
func (s *keySet) keysFor(ctx context.Context, id, algorithm string) (keys []jose.JSONWebKey, set int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys == nil {
		return nil, 0, ErrNoKeys
	}
	found := s.find(id, algorithm)
	if len(found) == 0 && s.waitForFetch(ctx) {
		found = s.find(id, algorithm)
	}
	if len(found) == 0 {
		return nil, 0, errKey
	}
	return found, s.set, nil
}

// keysAfter returns the keys for a token that none of a set has signed. A key may have changed
// under its id, and a token need not name one. They are of a newer set; nil if there is none.
func (s *keySet) keysAfter(ctx context.Context, set int, id, algorithm string) []jose.JSONWebKey {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.set == set && !s.waitForFetch(ctx) || s.set == set {
		return nil
	}
	return s.find(id, algorithm)
}

// waitForFetch waits for the end of a fetch, of the one that is under way or of a new one. false:
// there is none, because the last one was just now, or ctx is done. s.mu is held, but not while it
// waits.
func (s *keySet) waitForFetch(ctx context.Context) bool {
	if s.flight == nil && s.now().Sub(s.started) < refreshGap {
		return false
	}
	ended := s.begin()
	s.mu.Unlock()
	defer s.mu.Lock()
	select {
	case <-ended:
		return true
	case <-ctx.Done():
		return false
	}
}

// find returns the keys of that id. A token without an id may be signed with any. s.mu is held.
func (s *keySet) find(id, algorithm string) []jose.JSONWebKey {
	var list []jose.JSONWebKey
	for _, k := range s.keys {
		if (id == "" || k.KeyID == id) && (k.Algorithm == "" || k.Algorithm == algorithm) {
			list = append(list, k)
		}
	}
	return list
}

// fetch gets the set, and says which of its keys are skipped.
func (s *keySet) fetch(ctx context.Context) ([]jose.JSONWebKey, []string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
	if err != nil {
		return nil, nil, errors.New("the address of the keys is none")
	}
	req.Header.Set("Accept", "application/jwk-set+json, application/json")
	res, err := s.client.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, nil, fmt.Errorf("status %d", res.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxSet+1))
	switch {
	case err != nil:
		return nil, nil, err
	case len(body) > maxSet:
		return nil, nil, fmt.Errorf("the set has more than %d bytes", maxSet)
	}
	return parseSet(body)
}

// parseSet reads a JWK set. A key that is not for signatures, or that is of a kind that is not
// known, is left out: sets hold keys for other readers too (RFC 7517, section 5). skipped names
// these, each with the reason.
func parseSet(body []byte) (list []jose.JSONWebKey, skipped []string, err error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(body, &set); err != nil {
		return nil, nil, errors.New("the answer is no set of keys")
	}
	if len(set.Keys) > maxKeys {
		return nil, nil, fmt.Errorf("the set has more than %d keys", maxKeys)
	}
	for n, raw := range set.Keys {
		var key jose.JSONWebKey
		why := ""
		if err := key.UnmarshalJSON(raw); err != nil {
			why = "it cannot be read: " + strings.TrimPrefix(err.Error(), "go-jose/go-jose: ")
		} else {
			why = unfit(&key)
		}
		if why == "" {
			list = append(list, key)
		} else {
			skipped = append(skipped, keyName(n, raw)+": "+why)
		}
	}
	if len(list) == 0 {
		err := errors.New("the set has no public key for signatures")
		if len(skipped) > 0 {
			err = fmt.Errorf("%w (%s)", err, strings.Join(skipped, "; "))
		}
		return nil, skipped, err
	}
	return list, skipped, nil
}

// maxShownID bounds how much of a key's id is shown.
const maxShownID = 100

// keyName returns what a log calls the key at place n of a set.
func keyName(n int, raw []byte) string {
	var key struct {
		ID json.RawMessage `json:"kid"`
	}
	if json.Unmarshal(raw, &key) != nil || len(key.ID) == 0 || len(key.ID) > maxShownID {
		return fmt.Sprintf("key %d", n+1)
	}
	return fmt.Sprintf("key %d, kid %s", n+1, key.ID)
}

// unfit returns why a key is not for signatures that count here, or "".
func unfit(key *jose.JSONWebKey) string {
	switch {
	case key.Use != "" && key.Use != "sig":
		return fmt.Sprintf("its use is %q and not sig", key.Use)
	case !key.Valid():
		return "it is not valid"
	}
	switch public := key.Key.(type) {
	case *rsa.PublicKey:
		if bits := public.N.BitLen(); bits < minRSA {
			return fmt.Sprintf("it has %d bits, fewer than %d", bits, minRSA)
		}
		return ""
	case *ecdsa.PublicKey, ed25519.PublicKey:
		return ""
	}
	return "it is not a public key of RSA, ECDSA or Ed25519"
}

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
	// refreshEvery is the age at which the keys are fetched again, so that a key that the issuer
	// withdraws is not accepted for longer.
	refreshEvery = 10 * time.Minute
	// refreshGap is the shortest time between the starts of two fetches. Without it, tokens with
	// made-up key ids would make Holdpoint flood the issuer with requests.
	refreshGap = 10 * time.Second
	// fetchTime bounds one fetch.
	fetchTime = 5 * time.Second
	// maxSet and maxKeys bound a set of keys: its size in bytes, and the number of keys.
	maxSet, maxKeys = 1 << 20, 100
	// minRSA is the smallest size of an RSA key in bits (RFC 7518, section 3.3).
	minRSA = 2048
)

// A keySet has the keys of an issuer. They are fetched at start, at intervals, and when a token has
// an unknown key id. Keys stay in use until a later fetch succeeds.
type keySet struct {
	url     string
	client  http.Client
	now     func() time.Time
	fetched func(skipped []string, err error) // called after each fetch

	mu      sync.Mutex
	keys    []jose.JSONWebKey
	set     int           // the number of successful fetches
	failed  bool          // the last fetch failed
	started time.Time     // when the last fetch started
	flight  chan struct{} // closed at the end of the current fetch; nil if there is none
}

func newKeySet(o TokenOptions) keySet {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableKeepAlives = true // there is one fetch in minutes
	return keySet{url: o.KeysURL.String(), now: o.Now, fetched: o.Fetched, client: http.Client{
		Transport: transport,
		// A redirect could lead to the keys of somebody else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// run fetches the keys at intervals until ctx is done.
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

// fetchNow starts a fetch, or joins the current one, and waits for its end. It reports whether the
// last fetch succeeded.
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

// begin starts a fetch, unless one is in progress. The channel is closed at the end of the fetch.
// s.mu must be locked.
//
// The fetch has a context of its own, because the request that started it may end while others
// still wait for the fetch.
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
		if s.fetched != nil {
			s.fetched(skipped, err)
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

// keysFor returns the keys that may have signed a token with this key id and algorithm, and the
// number of the set that they belong to. If the id is unknown, the keys are fetched again, unless
// that was done a moment ago. The error is ErrNoKeys if no fetch has succeeded yet.
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

// keysAfter returns the matching keys of a newer set, after no key of the given set has verified a
// token. A key may have changed under the same id, and a token need not name an id. It returns nil
// if there is no newer set.
func (s *keySet) keysAfter(ctx context.Context, set int, id, algorithm string) []jose.JSONWebKey {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.set == set && !s.waitForFetch(ctx) || s.set == set {
		return nil
	}
	return s.find(id, algorithm)
}

// waitForFetch joins the current fetch, or starts one, and waits for its end. It returns false if
// the last fetch is too recent to start another, or if ctx is done. s.mu must be locked; it is
// unlocked during the wait.
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

// find returns the keys with the id. Without an id it returns all keys. In both cases the algorithm
// must match. s.mu must be locked.
func (s *keySet) find(id, algorithm string) []jose.JSONWebKey {
	var list []jose.JSONWebKey
	for _, k := range s.keys {
		if (id == "" || k.KeyID == id) && (k.Algorithm == "" || k.Algorithm == algorithm) {
			list = append(list, k)
		}
	}
	return list
}

// fetch gets the set from the issuer. skipped names the keys that cannot be used.
func (s *keySet) fetch(ctx context.Context) ([]jose.JSONWebKey, []string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
	if err != nil {
		return nil, nil, errors.New(textKeysAddress)
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
		return nil, nil, fmt.Errorf(textKeysTooLarge, maxSet)
	}
	return parseSet(body)
}

// parseSet parses a JWK set. A key that is not for signatures, or of an unknown kind, is skipped,
// because a set may contain keys for other purposes (RFC 7517, section 5). skipped has the name of
// each such key and the reason.
func parseSet(body []byte) (list []jose.JSONWebKey, skipped []string, err error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(body, &set); err != nil {
		return nil, nil, errors.New(textNotKeys)
	}
	if len(set.Keys) > maxKeys {
		return nil, nil, fmt.Errorf(textTooManyKeys, maxKeys)
	}
	for n, raw := range set.Keys {
		var key jose.JSONWebKey
		why := ""
		if err := key.UnmarshalJSON(raw); err != nil {
			why = fmt.Sprintf(textKeyUnread, strings.TrimPrefix(err.Error(), "go-jose/go-jose: "))
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
		err := errors.New(textNoKeyForSignatures)
		if len(skipped) > 0 {
			err = fmt.Errorf("%w (%s)", err, strings.Join(skipped, "; "))
		}
		return nil, skipped, err
	}
	return list, skipped, nil
}

// maxShownID is the largest size of a key's id in a log line, in bytes.
const maxShownID = 100

// keyName returns the name of the key at index n of a set, for the log.
func keyName(n int, raw []byte) string {
	var key struct {
		ID json.RawMessage `json:"kid"`
	}
	if json.Unmarshal(raw, &key) != nil || len(key.ID) == 0 || len(key.ID) > maxShownID {
		return fmt.Sprintf("key %d", n+1)
	}
	return fmt.Sprintf("key %d, kid %s", n+1, key.ID)
}

// unfit returns why a key cannot be used to verify tokens, or "".
func unfit(key *jose.JSONWebKey) string {
	switch {
	case key.Use != "" && key.Use != "sig":
		return fmt.Sprintf(textKeyUse, key.Use)
	case !key.Valid():
		return textKeyNotValid
	}
	switch public := key.Key.(type) {
	case *rsa.PublicKey:
		if bits := public.N.BitLen(); bits < minRSA {
			return fmt.Sprintf(textKeyTooShort, bits, minRSA)
		}
		return ""
	case *ecdsa.PublicKey, ed25519.PublicKey:
		return ""
	}
	return textKeyNotPublic
}

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
	// refreshEvery is the age at which the keys are fetched again. It bounds how long a key is
	// accepted after the issuer has withdrawn it.
	refreshEvery = 10 * time.Minute
	// refreshGap is the shortest time from the start of one fetch to the start of the next. Without
	// it, tokens with made-up key ids could make Holdpoint flood the issuer with requests.
	refreshGap = 10 * time.Second
	// fetchTime bounds the time of one fetch.
	fetchTime = 5 * time.Second
	// maxSet bounds the size of a set of keys in bytes. maxKeys bounds the number of its keys.
	maxSet, maxKeys = 1 << 20, 100
	// minRSA is the smallest size of an RSA key in bits (RFC 7518, section 3.3).
	minRSA = 2048
)

// A keySet contains the public keys of an issuer. It fetches them at the start, at intervals, and
// when a token has an unknown key id. The keys stay in use until a later fetch succeeds.
type keySet struct {
	url     string
	client  http.Client
	now     func() time.Time
	onFetch func(skipped []string, err error) // called after each fetch

	mu         sync.Mutex
	keys       []jose.JSONWebKey
	generation int           // how many fetches have succeeded
	failed     bool          // the last fetch failed
	started    time.Time     // when the last fetch started
	fetchDone  chan struct{} // closed at the end of the current fetch; nil if no fetch is in progress
}

func newKeySet(o TokenOptions) keySet {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableKeepAlives = true // a fetch happens only every few minutes
	return keySet{url: o.KeysURL.String(), now: o.Now, onFetch: o.OnFetch, client: http.Client{
		Transport: transport,
		// If the client followed a redirect, it could get the keys of somebody else.
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

// fetchNow starts a fetch, or joins the fetch in progress. It waits until the fetch has ended or
// ctx is done. It reports whether the last fetch that has ended succeeded.
func (s *keySet) fetchNow(ctx context.Context) bool {
	s.mu.Lock()
	ended := s.startFetch()
	s.mu.Unlock()
	select {
	case <-ended:
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.failed
}

// startFetch starts a fetch, unless one is in progress. It returns a channel that is closed at the
// end of the fetch. s.mu must be locked.
//
// The fetch has a context of its own, because the request that started it may end while other
// requests still wait for the fetch.
func (s *keySet) startFetch() <-chan struct{} {
	if s.fetchDone != nil {
		return s.fetchDone
	}
	ended := make(chan struct{})
	s.fetchDone, s.started = ended, s.now()
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), fetchTime)
		defer cancel()
		keys, skipped, err := s.fetch(ctx)
		if s.onFetch != nil {
			s.onFetch(skipped, err)
		}
		s.mu.Lock()
		if s.failed = err != nil; !s.failed {
			s.keys, s.generation = keys, s.generation+1
		}
		s.fetchDone = nil
		s.mu.Unlock()
		close(ended)
	}()
	return ended
}

// keysFor returns the keys that may have signed a token with this key id and algorithm. set is the
// number of the fetched set to which the keys belong. If the id is unknown, keysFor fetches the
// keys again, unless the last fetch is too recent. The error is ErrNoKeys if no fetch has succeeded
// yet.
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
		return nil, 0, errUnknownKey
	}
	return found, s.generation, nil
}

// keysAfter is called if no key of the set with the number set has verified a token. It returns the
// matching keys of a newer set, or nil if there is no newer set. A newer set can help because the
// key of an id may have changed, and because a token need not name an id.
func (s *keySet) keysAfter(ctx context.Context, generation int, id, algorithm string) []jose.JSONWebKey {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.generation == generation && !s.waitForFetch(ctx) || s.generation == generation {
		return nil
	}
	return s.find(id, algorithm)
}

// waitForFetch joins the fetch in progress, or starts one, and waits for its end. It returns false
// if the last fetch is too recent to start another, or if ctx is done. s.mu must be locked. It is
// unlocked during the wait.
func (s *keySet) waitForFetch(ctx context.Context) bool {
	if s.fetchDone == nil && s.now().Sub(s.started) < refreshGap {
		return false
	}
	ended := s.startFetch()
	s.mu.Unlock()
	defer s.mu.Lock()
	select {
	case <-ended:
		return true
	case <-ctx.Done():
		return false
	}
}

// find returns the keys that have this id and match the algorithm. If id is "", it returns all keys
// that match the algorithm. s.mu must be locked.
func (s *keySet) find(id, algorithm string) []jose.JSONWebKey {
	var list []jose.JSONWebKey
	for _, k := range s.keys {
		if (id == "" || k.KeyID == id) && (k.Algorithm == "" || k.Algorithm == algorithm) {
			list = append(list, k)
		}
	}
	return list
}

// fetch requests the set of keys from the issuer. The second result names the keys that cannot be
// used, each with the reason.
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

// parseSet parses a JWK set. It skips a key that is not for signatures or of an unknown kind,
// because a set may contain keys for other purposes (RFC 7517, section 5). skipped contains the
// name of each such key and the reason.
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
			why = unfitReason(&key)
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

// unfitReason returns why the key cannot verify tokens, or "" if it can.
func unfitReason(key *jose.JSONWebKey) string {
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

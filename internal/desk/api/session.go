package api

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"holdpoint/store"
)

// The names of the session cookie. A browser accepts secureCookie only over TLS and only from this
// host, and no other host of the domain can set it. A browser on the desk's own machine that uses
// plain HTTP gets plainCookie.
const (
	secureCookie = "__Host-holdpoint"
	plainCookie  = "holdpoint-desk"
)

// Cookies has the names of the session cookies. An agent must not get such a cookie, but browsers
// send a cookie to every port of a host.
var Cookies = []string{secureCookie, plainCookie}

// sessionTime is how long a session lasts, so that a person signs in about once each working day. A
// stolen cookie is valid as long.
const sessionTime = 12 * time.Hour

// Keys has the keys that sign sessions, newest first. Processes with the same keys and tokens
// accept each other's sessions.
type Keys struct{ list atomic.Pointer[[][]byte] }

// Set replaces the keys. The first key signs, and a signature by any of the keys is accepted. If
// list is empty, Set makes a key, and sessions are then valid in this process only.
func (k *Keys) Set(list [][]byte) {
	if len(list) == 0 {
		key := make([]byte, sha256.Size)
		_, _ = rand.Read(key) // rand.Read never fails
		list = [][]byte{key}
	}
	k.list.Store(&list)
}

// A session is the content of a session cookie: its end, a nonce, and a signature. The signature
// covers the end, the nonce, and the hash of the token with which the person signed in. The cookie
// contains no part of the token. If the token is removed, the session is no longer valid.
type session struct {
	nonce [16]byte
	end   time.Time
}

// expiry returns the end of the session, or the zero time for a nil session.
func (s *session) expiry() time.Time {
	if s == nil {
		return time.Time{}
	}
	return s.end
}

// sessions signs sessions, and does not store them. It stores only the sessions that were signed
// out: in the store for all processes, and in out until the sessions would have ended.
type sessions struct {
	keys      *Keys
	mu        sync.Mutex
	signedOut map[[16]byte]time.Time
}

const unsignedSize = 8 + 16 // number of bytes of a cookie before its signature

// newCookie returns the cookie of a new session for a token, and when the session ends.
func (s *sessions) newCookie(t *Token, now time.Time) (cookie string, until time.Time) {
	until = now.Add(sessionTime).Truncate(time.Second)
	plain := binary.BigEndian.AppendUint64(nil, uint64(until.Unix()))
	plain = append(plain, make([]byte, 16)...)
	_, _ = rand.Read(plain[8:]) // rand.Read never fails
	signed := append(plain, sign((*s.keys.list.Load())[0], plain, t)...)
	return base64.RawURLEncoding.EncodeToString(signed), until
}

// sign returns the signature of a session. plain is the content of the session's cookie, and t is
// the token with which the person signed in.
func sign(key, plain []byte, t *Token) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("holdpoint desk session 1"))
	mac.Write(plain)
	mac.Write(t.hash[:])
	return mac.Sum(nil)
}

// find returns the session of a cookie, and the token of the session. It returns nil if the cookie
// is not valid, if the session is over, or if the token was removed.
func (s *sessions) find(cookie string, tokens *Tokens, now time.Time) (*session, *Token) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cookie)
	if err != nil || len(raw) != unsignedSize+sha256.Size {
		return nil, nil
	}
	plain, signature := raw[:unsignedSize], raw[unsignedSize:]
	var token *Token
	for _, key := range *s.keys.list.Load() {
		for _, t := range tokens.allTokens() {
			if hmac.Equal(signature, sign(key, plain, t)) {
				token = t
			}
		}
	}
	found := &session{nonce: [16]byte(plain[8:]), end: time.Unix(int64(binary.BigEndian.Uint64(plain)), 0).UTC()}
	if token == nil || !now.Before(found.end) {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, gone := s.signedOut[found.nonce]; gone {
		return nil, nil
	}
	return found, token
}

// signOut marks a session as signed out in this process.
func (s *sessions) signOut(one *session, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for nonce, ends := range s.signedOut {
		if !now.Before(ends) {
			delete(s.signedOut, nonce)
		}
	}
	s.signedOut[one.nonce] = one.end
}

// signOutKey returns the key of the record which says that a session was signed out.
func signOutKey(s *session) store.Key { return noteKey("signed out", hex.EncodeToString(s.nonce[:])) }

// signedOutAnywhere reports whether any process has signed out the session.
func (d *Desk) signedOutAnywhere(ctx context.Context, s *session) (bool, error) {
	rec, err := d.loadNote(ctx, signOutKey(s))
	if errors.Is(err, store.ErrUnread) {
		return true, nil // the record exists, and only a sign-out of the session writes it
	}
	return len(rec.Notes) > 0, err
}

// signOutEverywhere signs the session out for all processes.
func (d *Desk) signOutEverywhere(ctx context.Context, s *session) error {
	d.sessions.signOut(s, d.opts.Now())
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteTimeout)
	defer cancel()
	_, err := d.opts.Store.Do(ctx, signOutKey(s), store.Remember{Note: store.Note{ID: "out", Text: json.RawMessage("{}")}, Most: 1})
	return err
}

// cookieOf returns the session cookie of a request, or "" if the request has no such cookie or
// several.
func (d *Desk) cookieOf(req *http.Request) string {
	name := plainCookie
	if d.isSecure(req) {
		name = secureCookie
	}
	if all := req.CookiesNamed(name); len(all) == 1 {
		return all[0].Value
	}
	return ""
}

// setCookie sets the session cookie in the browser. If age is zero, it deletes the cookie.
func (d *Desk) setCookie(w http.ResponseWriter, req *http.Request, value string, age time.Duration) {
	c := &http.Cookie{Name: plainCookie, Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, MaxAge: int(age / time.Second)}
	if d.isSecure(req) {
		c.Name, c.Secure = secureCookie, true
	}
	if age == 0 {
		c.MaxAge = -1
	}
	http.SetCookie(w, c)
}

// refuseSignedOut refuses a request whose cookie is no longer valid, and deletes the cookie.
func (d *Desk) refuseSignedOut(w http.ResponseWriter, req *http.Request) {
	d.setCookie(w, req, "", 0)
	d.refuseUnknown(w, textSessionOver)
}

// signIn serves POST /v1/session.
func (d *Desk) signIn(w http.ResponseWriter, req *http.Request) {
	var said struct {
		Token string `json:"token"`
	}
	switch {
	case d.opts.Gate != nil:
		refuse(w, http.StatusConflict, codeNoSessions, textNoSessions)
		return
	case !d.isSecure(req) && !isLocalHost(req.Host):
		refuse(w, http.StatusForbidden, codeNoTLS, textNoTLS)
		return
	case !d.read(w, req, &said):
		return
	}
	token := d.opts.Tokens.find(said.Token)
	if token == nil {
		if d.mayTry(w, req) {
			d.refuseUnknown(w, textNotAToken)
		}
		return
	}
	if !d.mayChange(w, token.caller()) {
		return
	}
	cookie, until := d.sessions.newCookie(token, d.opts.Now())
	d.setCookie(w, req, cookie, sessionTime)
	d.log.Info("signed in", "by", token.Name, "peer", req.RemoteAddr, "until", until)
	w.WriteHeader(http.StatusNoContent)
}

// signOut serves DELETE /v1/session.
func (d *Desk) signOut(w http.ResponseWriter, req *http.Request) {
	if c := callerIn(req.Context()); c.session != nil {
		err := d.signOutEverywhere(req.Context(), c.session)
		d.setCookie(w, req, "", 0)
		d.log.Info("signed out", "by", c.Name)
		if err != nil {
			d.log.Error(logNotSignedOut, "by", c.Name, "err", err)
			w.Header().Set("Retry-After", "1")
			refuse(w, http.StatusServiceUnavailable, codeStore, textSignedOutHere)
			return
		}
	}
	w.WriteHeader(http.StatusNoContent)
}

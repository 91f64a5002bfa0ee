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

// The names of the cookie. A browser takes the first by TLS only, from this host only, and lets no
// other host of the domain set it. A browser that comes by plain HTTP, on its own machine, takes
// the second.
const (
	secureCookie = "__Host-holdpoint"
	plainCookie  = "holdpoint-desk"
)

// Cookies are the names of the cookies by which a browser is signed in. An agent must not get them:
// browsers send a cookie to every port of a host.
var Cookies = []string{secureCookie, plainCookie}

// sessionTime is how long a session lasts: somebody signs in once in a working day. A cookie that
// was stolen counts as long.
const sessionTime = 12 * time.Hour

// Keys are what sessions are signed with, the newest first. Processes with the same keys and tokens
// take each other's sessions.
type Keys struct{ list atomic.Pointer[[][]byte] }

// Set signs with the first key from now on, and takes what any of them has signed. Without a key it
// makes one, and the sessions are those of this process.
func (k *Keys) Set(list [][]byte) {
	if len(list) == 0 {
		key := make([]byte, sha256.Size)
		_, _ = rand.Read(key) // it never fails
		list = [][]byte{key}
	}
	k.list.Store(&list)
}

// A session is what a cookie says. The cookie has when it ends, a nonce, and a signature of both
// and of the hash of the token that it was got for: it holds nothing of the token, and ends with
// it.
type session struct {
	nonce [16]byte
	ends  time.Time
}

// expiry returns when it ends, the zero time without a session.
func (s *session) expiry() time.Time {
	if s == nil {
		return time.Time{}
	}
	return s.ends
}

// sessions are signed, and not kept. What is kept are those that were signed out: in the store, for
// all processes, and here until they would have ended.
type sessions struct {
	keys *Keys
	mu   sync.Mutex
	out  map[[16]byte]time.Time
}

const plainSize = 8 + 16 // bytes of a cookie before its signature

// begin makes a session for a token.
func (s *sessions) begin(t *Token, now time.Time) (cookie string, until time.Time) {
	until = now.Add(sessionTime).Truncate(time.Second)
	plain := binary.BigEndian.AppendUint64(nil, uint64(until.Unix()))
	plain = append(plain, make([]byte, 16)...)
	_, _ = rand.Read(plain[8:]) // it never fails
	signed := append(plain, sign((*s.keys.list.Load())[0], plain, t)...)
	return base64.RawURLEncoding.EncodeToString(signed), until
}

// sign returns the signature of a session for a token.
func sign(key, plain []byte, t *Token) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("holdpoint desk session 1"))
	mac.Write(plain)
	mac.Write(t.hash[:])
	return mac.Sum(nil)
}

// find returns the session of a cookie, and the token that it is for; nil: there is none, it is
// over, or its token counts no more.
func (s *sessions) find(cookie string, tokens *Tokens, now time.Time) (*session, *Token) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cookie)
	if err != nil || len(raw) != plainSize+sha256.Size {
		return nil, nil
	}
	plain, signature := raw[:plainSize], raw[plainSize:]
	var token *Token
	for _, key := range *s.keys.list.Load() {
		for _, t := range tokens.allTokens() {
			if hmac.Equal(signature, sign(key, plain, t)) {
				token = t
			}
		}
	}
	found := &session{nonce: [16]byte(plain[8:]), ends: time.Unix(int64(binary.BigEndian.Uint64(plain)), 0).UTC()}
	if token == nil || !now.Before(found.ends) {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, gone := s.out[found.nonce]; gone {
		return nil, nil
	}
	return found, token
}

// end signs a session out.
func (s *sessions) end(one *session, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for nonce, ends := range s.out {
		if !now.Before(ends) {
			delete(s.out, nonce)
		}
	}
	s.out[one.nonce] = one.ends
}

// outKey returns the key of the record that a session was signed out.
func outKey(s *session) store.Key { return noteKey("signed out", hex.EncodeToString(s.nonce[:])) }

// signedOutAnywhere reports whether another process has signed the session out.
func (d *Desk) signedOutAnywhere(ctx context.Context, s *session) (bool, error) {
	rec, err := d.note(ctx, outKey(s))
	if errors.Is(err, store.ErrUnread) {
		return true, nil // somebody has noted something about it
	}
	return len(rec.Notes) > 0, err
}

// signOutEverywhere has no process take the session any more.
func (d *Desk) signOutEverywhere(ctx context.Context, s *session) error {
	d.sessions.end(s, d.opts.Now())
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteTimeout)
	defer cancel()
	_, err := d.opts.Store.Do(ctx, outKey(s), store.Remember{Note: store.Note{ID: "out", Text: json.RawMessage("{}")}, Most: 1})
	return err
}

// cookieOf returns the cookie by which a browser is signed in, "" if it shows none, or two.
func (d *Desk) cookieOf(req *http.Request) string {
	name := plainCookie
	if d.secure(req) {
		name = secureCookie
	}
	if all := req.CookiesNamed(name); len(all) == 1 {
		return all[0].Value
	}
	return ""
}

// setCookie gives the browser a cookie. The zero time takes it back.
func (d *Desk) setCookie(w http.ResponseWriter, req *http.Request, value string, age time.Duration) {
	c := &http.Cookie{Name: plainCookie, Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, MaxAge: int(age / time.Second)}
	if d.secure(req) {
		c.Name, c.Secure = secureCookie, true
	}
	if age == 0 {
		c.MaxAge = -1
	}
	http.SetCookie(w, c)
}

// signedOut answers a cookie that counts no more, and takes it back.
func (d *Desk) signedOut(w http.ResponseWriter, req *http.Request) {
	d.setCookie(w, req, "", 0)
	d.refuseUnknown(w, "the session is over: sign in again")
}

// signIn is POST /v1/session.
func (d *Desk) signIn(w http.ResponseWriter, req *http.Request) {
	var said struct {
		Token string `json:"token"`
	}
	switch {
	case d.opts.Gate != nil:
		refuse(w, http.StatusConflict, codeNoSessions, textNoSessions)
		return
	case !d.secure(req) && !local(req.Host):
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
	cookie, until := d.sessions.begin(token, d.opts.Now())
	d.setCookie(w, req, cookie, sessionTime)
	d.log.Info("signed in", "by", token.Name, "peer", req.RemoteAddr, "until", until)
	w.WriteHeader(http.StatusNoContent)
}

// signOut is DELETE /v1/session.
func (d *Desk) signOut(w http.ResponseWriter, req *http.Request) {
	if c := callerIn(req.Context()); c.session != nil {
		err := d.signOutEverywhere(req.Context(), c.session)
		d.setCookie(w, req, "", 0)
		d.log.Info("signed out", "by", c.Name)
		if err != nil {
			d.log.Error("desk: other processes do not know who was signed out", "by", c.Name, "err", err)
			w.Header().Set("Retry-After", "1")
			refuse(w, http.StatusServiceUnavailable, codeStore, textSignedOutHere)
			return
		}
	}
	w.WriteHeader(http.StatusNoContent)
}

package cors

import (
	"crypto/sha256"
	"encoding/binary"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

const (
	maxAllowances     = 4096
	maxAllowanceBytes = 1 << 20
	allowanceBytes    = 256     // of one, without its texts
	maxExpose         = 1 << 10 // of Access-Control-Expose-Headers; a longer one is left out

	// MaxOrigin bounds an Origin in bytes: a host has 253 letters at most.
	MaxOrigin = 512
	// AllowanceAge is how long the backend's word counts without being said again. A client that
	// sends requests without preflights would otherwise never see that it was taken back.
	AllowanceAge = 10 * time.Minute
)

// An allowance is what the backend said to one origin, in an answer or in a preflight's answer.
type allowance struct {
	origin      string // Access-Control-Allow-Origin: that origin or "*"; "" if it allowed nothing
	credentials bool
	expose      string    // Access-Control-Expose-Headers
	at          time.Time // zero: it is to be asked for again
	order       uint64    // of what was said later this is larger
}

// An allowanceKey is the hash of everything that a backend may go by. Clients choose these texts,
// and a hash makes them cost nothing.
type allowanceKey [sha256.Size]byte

// allowances are what the backend last said to the origins of pages, so that Holdpoint can say it
// again. They are kept by the address (path, query, host), the method and the origin. Nothing that
// was said to one origin or at one address is said to another. What an answer said is also kept by
// the request's credentials, because a backend may go by those. A preflight has no credentials, and
// its answer counts for the requests behind it.
//
// After a restart nothing is known, and browsers go on without preflights for as long as the
// backend told them to (Starlette: ten minutes). So Holdpoint asks for what it does not know, by a
// preflight like the browser's own, once for all who wait for it.
type allowances struct {
	now     func() time.Time
	backend Backend

	mu         sync.Mutex
	known      *simplelru.LRU[allowanceKey, allowance]
	bytes      int
	order      uint64
	asking     map[allowanceKey]chan struct{} // closed when the answer is there
	unanswered *simplelru.LRU[allowanceKey, time.Time]
}

func newAllowances(now func() time.Time, backend Backend) *allowances {
	a := &allowances{now: now, backend: backend, asking: map[allowanceKey]chan struct{}{}}
	// Both fail for a size of 0 only.
	a.known, _ = simplelru.NewLRU(maxAllowances, func(_ allowanceKey, gone allowance) { a.bytes -= gone.size() })
	a.unanswered, _ = simplelru.NewLRU[allowanceKey, time.Time](maxUnanswered, nil)
	return a
}

func (a allowance) size() int { return allowanceBytes + len(a.origin) + len(a.expose) }

// Origin returns the origin of the page that sent a request. It is "" if there is none, or if no
// browser would write it so.
func Origin(req *http.Request) string {
	list := req.Header["Origin"]
	if len(list) != 1 || len(list[0]) > MaxOrigin || list[0] == "*" {
		return ""
	}
	if !printable(list[0]) || strings.ContainsAny(list[0], " ,") {
		return ""
	}
	return list[0]
}

func printable(text string) bool {
	return !strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c >= 0x7f })
}

// keyOf returns the key for what is said to requests of a method. credentials are those that the
// answer may depend on; a preflight has none.
func keyOf(req *http.Request, origin, method string, credentials ...string) allowanceKey {
	parts := make([]byte, 0, 256)
	add := func(list ...string) {
		parts = binary.AppendUvarint(parts, uint64(len(list)))
		for _, text := range list {
			parts = binary.AppendUvarint(parts, uint64(len(text)))
			parts = append(parts, text...)
		}
	}
	add(origin, method, req.Host, req.URL.EscapedPath(), req.URL.RawQuery)
	for _, name := range []string{"X-Forwarded-Host", "X-Forwarded-Proto", "Forwarded"} {
		add(req.Header[name]...)
	}
	for _, name := range credentials {
		add(name)
		add(req.Header[name]...)
	}
	return sha256.Sum256(parts)
}

func answerKey(req *http.Request, origin string) allowanceKey {
	return keyOf(req, origin, req.Method, "Authorization", "Cookie")
}

func preflightKey(req *http.Request, origin string) allowanceKey {
	return keyOf(req, origin, req.Method)
}

// hear notes what an answer of the backend says to the origin of the request.
func (a *allowances) hear(req *http.Request, res *http.Response) {
	origin := Origin(req)
	switch {
	case origin == "" || req.Method == http.MethodGet || req.Method == http.MethodHead: // a page's pictures; no run is asked for so
	case IsPreflight(req):
		method := req.Header.Get("Access-Control-Request-Method")
		if !dependsOn(req, res.Header, "Authorization", "Cookie") { // else it is no browser's
			a.hearPreflight(keyOf(req, origin, method), origin, method, res, false)
		}
	default:
		a.hearAnswer(req, origin, res)
	}
}

// hearAnswer notes what an ordinary answer says.
func (a *allowances) hearAnswer(req *http.Request, origin string, res *http.Response) {
	said := read(res.Header, origin)
	if said.origin == "" && res.StatusCode >= http.StatusInternalServerError {
		return // whoever failed there may stand before, or around, who allows: Starlette's 500, an ingress's 502
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	key := answerKey(req, origin)
	if said.origin == "" {
		a.keep(preflightKey(req, origin), allowance{}, false) // what was said before, to whomever of that origin, holds no more
	}
	if said.origin == "" && res.StatusCode >= http.StatusBadRequest || dependsOn(req, res.Header) {
		a.known.Remove(key)
		return
	}
	a.keep(key, said, true)
}

// hearPreflight notes what a preflight's answer says. asked: the preflight was Holdpoint's own.
func (a *allowances) hearPreflight(key allowanceKey, origin, method string, res *http.Response, asked bool) {
	var said allowance
	if res.StatusCode/100 == 2 && allowsMethod(res.Header, method) { // a browser takes no other
		said = read(res.Header, origin)
		said.expose = "" // it is said by answers
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case res.StatusCode >= http.StatusInternalServerError: // it said nothing
	case res.StatusCode >= http.StatusBadRequest && !asked:
		a.keep(key, allowance{}, false) // it may be for a header that this page wanted to send
	default:
		a.keep(key, said, true)
	}
}

// dependsOn reports whether a request with the same key may get another answer. It may if the
// answer names something in Vary that the request has and the key has not, or if the request has a
// header that it should not have.
func dependsOn(req *http.Request, answer http.Header, not ...string) bool {
	for _, name := range not {
		if req.Header[name] != nil {
			return true
		}
	}
	for _, line := range answer["Vary"] {
		for name := range strings.SplitSeq(line, ",") {
			name = http.CanonicalHeaderKey(strings.TrimSpace(name))
			if name == "*" || req.Header[name] != nil && !slices.Contains(harmless, name) {
				return true
			}
		}
	}
	return false
}

// harmless are the names that may stand in a Vary: they are part of the key, or do not decide who
// may read.
var harmless = []string{
	"Origin", "Host", "X-Forwarded-Host", "X-Forwarded-Proto", "Forwarded", "Authorization", "Cookie",
	"Accept", "Accept-Encoding", "Accept-Language", "Content-Type", "User-Agent",
	"Access-Control-Request-Method", "Access-Control-Request-Headers", "Access-Control-Request-Private-Network",
}

// read returns what a header says to an origin, as a browser reads it.
func read(header http.Header, origin string) (said allowance) {
	allow := header["Access-Control-Allow-Origin"]
	if len(allow) != 1 || allow[0] != "*" && allow[0] != origin {
		return allowance{}
	}
	said.origin = strings.Clone(allow[0])
	credentials := header["Access-Control-Allow-Credentials"]
	said.credentials = len(credentials) == 1 && credentials[0] == "true"
	if expose := strings.Join(header["Access-Control-Expose-Headers"], ", "); len(expose) <= maxExpose && printable(expose) {
		said.expose = strings.Clone(expose)
	}
	return said
}

// keep is called under mu. sure reports that Holdpoint need not ask for it again soon.
func (a *allowances) keep(key allowanceKey, said allowance, sure bool) {
	a.order++
	said.order = a.order
	if sure {
		said.at = a.now()
	}
	a.known.Remove(key)
	a.known.Add(key, said)
	a.bytes += said.size()
	for a.bytes > maxAllowanceBytes {
		a.known.RemoveOldest()
	}
}

// of returns what the backend says to the origin of a request that Holdpoint answers itself.
func (a *allowances) of(req *http.Request) allowance {
	origin := Origin(req)
	if origin == "" {
		return allowance{}
	}
	said, fresh := a.recall(req, origin)
	if fresh || !a.mayAsk(req) {
		return said
	}
	a.ask(req, origin)
	said, _ = a.recall(req, origin) // where nobody answered: what was said last, however long ago
	return said
}

// recall returns what was said last, and whether that is recent enough.
func (a *allowances) recall(req *http.Request, origin string) (said allowance, fresh bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, key := range [2]allowanceKey{answerKey(req, origin), preflightKey(req, origin)} {
		if one, ok := a.known.Get(key); ok && one.order > said.order {
			said = one
		}
	}
	return said, said.order > 0 && a.now().Sub(said.at) < AllowanceAge
}

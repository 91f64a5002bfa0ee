package proxy

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"io"
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
	maxOrigin         = 512     // a host has 253 letters at most; no page has a longer Origin
	maxExpose         = 1 << 10 // of Access-Control-Expose-Headers; a longer one is left out

	// allowanceAge is how long the backend's word counts without being said again. A client that
	// sends requests without preflights would otherwise never see that it was taken back.
	allowanceAge = 10 * time.Minute
	// askTimeout bounds a question to the backend. askPause is how long Holdpoint does not put a
	// question again that got no answer.
	askTimeout, askPause = 2 * time.Second, 5 * time.Second
	// At most maxAsking questions are under way. A request that comes on top of them is answered by
	// what is known.
	maxAsking, maxUnanswered = 64, 256
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
	now func() time.Time
	// asks puts the question to the backend that a browser would put for a page of the origin.
	asks func(ctx context.Context, req *http.Request, origin string) (*http.Response, error)

	mu         sync.Mutex
	known      *simplelru.LRU[allowanceKey, allowance]
	bytes      int
	order      uint64
	asking     map[allowanceKey]chan struct{} // closed when the answer is there
	unanswered *simplelru.LRU[allowanceKey, time.Time]
}

func newAllowances(now func() time.Time) *allowances {
	a := &allowances{now: now, asking: map[allowanceKey]chan struct{}{}}
	// Both fail for a size of 0 only.
	a.known, _ = simplelru.NewLRU(maxAllowances, func(_ allowanceKey, gone allowance) { a.bytes -= gone.size() })
	a.unanswered, _ = simplelru.NewLRU[allowanceKey, time.Time](maxUnanswered, nil)
	return a
}

func (a allowance) size() int { return allowanceBytes + len(a.origin) + len(a.expose) }

// originOf is the origin of the page that sent a request. It is "" if there is none, or if no
// browser would write it so.
func originOf(req *http.Request) string {
	list := req.Header["Origin"]
	if len(list) != 1 || len(list[0]) > maxOrigin || list[0] == "*" {
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

// keyOf is the key for what is said to requests of a method. credentials are those that the answer
// may depend on; a preflight has none.
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
	origin := originOf(req)
	switch {
	case origin == "" || req.Method == http.MethodGet || req.Method == http.MethodHead: // a page's pictures; no run is asked for so
	case isPreflight(req):
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

// allowsMethod says whether a preflight's answer lets the method pass. Some methods need no
// permission.
func allowsMethod(header http.Header, method string) bool {
	if method == http.MethodGet || method == http.MethodHead || method == http.MethodPost {
		return true
	}
	for _, line := range header["Access-Control-Allow-Methods"] {
		for one := range strings.SplitSeq(line, ",") {
			if one = strings.TrimSpace(one); one == "*" || one == method {
				return true
			}
		}
	}
	return false
}

// dependsOn says whether a request with the same key may get another answer. It may if the answer
// names something in Vary that the request has and the key has not, or if the request has a header
// that it should not have.
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

// read is what a header says to an origin, as a browser reads it.
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

// keep is called under mu. sure says that Holdpoint need not ask for it again soon.
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

// of is what the backend says to the origin of a request that Holdpoint answers itself.
func (a *allowances) of(req *http.Request) allowance {
	origin := originOf(req)
	if origin == "" {
		return allowance{}
	}
	said, fresh := a.recall(req, origin)
	if fresh || !mayAsk(req) {
		return said
	}
	a.ask(req, origin)
	said, _ = a.recall(req, origin) // where nobody answered: what was said last, however long ago
	return said
}

// recall is what was said last, and whether that is recent enough.
func (a *allowances) recall(req *http.Request, origin string) (said allowance, fresh bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, key := range [2]allowanceKey{answerKey(req, origin), preflightKey(req, origin)} {
		if one, ok := a.known.Get(key); ok && one.order > said.order {
			said = one
		}
	}
	return said, said.order > 0 && a.now().Sub(said.at) < allowanceAge
}

// mayAsk says whether Holdpoint can ask the backend what a request's page may read. A page of our
// own origin needs no permission. A path that some backends take for another one is sent to none.
func mayAsk(req *http.Request) bool {
	return req.Method != http.MethodOptions && req.Header.Get("Sec-Fetch-Site") != "same-origin" && !misleading(req.URL.EscapedPath())
}

// ask notes the answer to a preflight. It gives up if the backend does not answer in time.
func (a *allowances) ask(req *http.Request, origin string) {
	key := preflightKey(req, origin)
	answered, other := a.mine(key)
	if other != nil {
		<-other // it is bounded as this one
	}
	if answered == nil {
		return
	}
	defer a.answered(key, answered)
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	res, err := a.asks(ctx, req, origin)
	if err != nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.unanswered.Add(key, a.now())
		return
	}
	io.CopyN(io.Discard, res.Body, 4<<10) //nolint:errcheck // it is for the connection, which can then be used again
	res.Body.Close()
	a.hearPreflight(key, origin, req.Method, res, true)
}

func (a *allowances) answered(key allowanceKey, answered chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.asking, key)
	close(answered)
}

// mine says whether the caller is the one to put the question, and to close answered then. If not,
// it returns the other caller's channel to wait for.
func (a *allowances) mine(key allowanceKey) (answered chan struct{}, other <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if other := a.asking[key]; other != nil {
		return nil, other
	}
	last, unanswered := a.unanswered.Get(key)
	if unanswered && a.now().Sub(last) < askPause || len(a.asking) >= maxAsking {
		return nil, nil
	}
	answered = make(chan struct{})
	a.asking[key] = answered
	return answered, nil
}

// isPreflight says whether a browser asks what a page may send.
func isPreflight(req *http.Request) bool {
	return req.Method == http.MethodOptions && req.Header.Get("Access-Control-Request-Method") != ""
}

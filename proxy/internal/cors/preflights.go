package cors

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// AskTimeout bounds a question to the backend. AskPause is how long Holdpoint does not put a
	// question again that got no answer.
	AskTimeout, AskPause = 2 * time.Second, 5 * time.Second
	// At most maxAsking questions are under way. A request that comes on top of them is answered by
	// what is known.
	maxAsking, maxUnanswered = 64, 256
)

// A Backend answers preflights of Holdpoint's own.
type Backend interface {
	// Takes reports whether Holdpoint sends requests to an address at all. It sends none with a path
	// that some backends take for another one.
	Takes(address *url.URL) bool
	// Send sends a preflight to the address that the client's request is for. The context of both is
	// the preflight's.
	Send(client, preflight *http.Request) (*http.Response, error)
}

// mayAsk reports whether Holdpoint can ask the backend what a request's page may read. A page of
// Holdpoint's own origin needs no permission.
func (a *allowances) mayAsk(req *http.Request) bool {
	return req.Method != http.MethodOptions && req.Header.Get("Sec-Fetch-Site") != "same-origin" && a.backend.Takes(req.URL)
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
	ctx, cancel := context.WithTimeout(context.Background(), AskTimeout)
	defer cancel()
	// Not with req's own context: a run in it would make the preflight a run.
	res, err := a.backend.Send(req.WithContext(ctx), preflight(req, origin).WithContext(ctx))
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

// mine reports whether the caller is the one to put the question, and to close answered then. If
// not, it returns the other caller's channel to wait for.
func (a *allowances) mine(key allowanceKey) (answered chan struct{}, other <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if other := a.asking[key]; other != nil {
		return nil, other
	}
	last, unanswered := a.unanswered.Get(key)
	if unanswered && a.now().Sub(last) < AskPause || len(a.asking) >= maxAsking {
		return nil, nil
	}
	answered = make(chan struct{})
	a.asking[key] = answered
	return answered, nil
}

// preflight makes the request by which a browser would ask whether pages of an origin may send such
// a request at all. It has nothing of the client's but what a browser's would have. It names no
// headers: those are judged when the browser asks for them.
func preflight(req *http.Request, origin string) *http.Request {
	return &http.Request{Method: http.MethodOptions, Header: http.Header{
		"Accept": {"*/*"}, "Origin": {origin}, "Access-Control-Request-Method": {req.Method}, "User-Agent": {req.UserAgent()},
	}}
}

// IsPreflight reports whether a browser asks by a request what a page may send.
func IsPreflight(req *http.Request) bool {
	return req.Method == http.MethodOptions && req.Header.Get("Access-Control-Request-Method") != ""
}

// allowsMethod reports whether a preflight's answer lets the method pass. Some methods need no
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

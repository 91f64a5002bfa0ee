package cors

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestAllowancesAreBounded: Holdpoint records which origins a backend permits. The number of these
// permissions and their bytes must be bounded, whatever clients and backends send.
func TestAllowancesAreBounded(t *testing.T) {
	p := withBackend(nil, time.Now, &fakeBackend{})
	hear := func(n int, credentials string, status, expose int) *http.Request {
		origin := fmt.Sprintf("https://%0*d.example", MaxOrigin-20, n)
		req := asked("POST", "/", origin, "Cookie", credentials)
		header := http.Header{}
		if status == 200 {
			header = http.Header{"Access-Control-Allow-Origin": {origin}, "Access-Control-Expose-Headers": {strings.Repeat("x", expose)}}
		}
		p.Hear(req, &http.Response{StatusCode: status, Header: header})
		return req
	}
	for n := range 3 * maxOrigins {
		hear(n, "", 200, 1000)
		hear(n, "", 204, 0)
	}
	for n := range 3 * maxCredentials {
		hear(0, strings.Repeat("a", n), 200, 1000)
	}
	if p.known.Len() > maxOrigins {
		t.Errorf("what was said to %d origins is kept", p.known.Len())
	}
	size := 0
	for _, known := range p.known.Values() {
		if len(known) > maxCredentials {
			t.Errorf("what was said to %d credentials is kept", len(known))
		}
		for _, said := range known {
			for _, values := range said.header {
				size += len(values[0])
			}
		}
	}
	if most := (maxOrigins + maxCredentials) * (MaxOrigin + 1010); size > most {
		t.Errorf("%d bytes are kept, want %d at most", size, most)
	}
	if said := p.recall(hear(1, "", 200, 1001)).header; said.Get("Access-Control-Allow-Origin") == "" || said.Get("Access-Control-Expose-Headers") != "" {
		t.Errorf("a long list of exposed headers: %v", said)
	}
}

// TestCredentialsOverTheBound: Holdpoint has recorded permissions for the maximum number of
// credentials. It must keep these permissions, and must not record a permission for further
// credentials.
func TestCredentialsOverTheBound(t *testing.T) {
	backend := &fakeBackend{}
	p := withBackend(nil, time.Now, backend)
	with := func(n int) *http.Request { return asked("POST", "/", page, "Cookie", fmt.Sprint(n)) }
	for n := range maxCredentials + 1 {
		p.Hear(with(n), &http.Response{StatusCode: http.StatusOK, Header: leave(page)(page)})
	}
	for n, want := range map[int]string{0: page, maxCredentials - 1: page, maxCredentials: ""} {
		header := http.Header{}
		if p.Allow(header, with(n)); header.Get("Access-Control-Allow-Origin") != want {
			t.Errorf("credentials %d: %v", n, header)
		}
	}
	if len(backend.sent) != 1 {
		t.Errorf("the backend was asked %d times", len(backend.sent))
	}
}

// TestWhichPreflightsWithdraw: a backend has permitted an origin, and then denies it in its
// response to a preflight. If a browser sent the preflight, this must withdraw the permission,
// whatever the Vary of the response. If the preflight has credentials, it must not, because no
// browser sends such a preflight.
func TestWhichPreflightsWithdraw(t *testing.T) {
	for name, test := range map[string]struct {
		header, value string // a header of the preflight
		permitted     bool   // after the preflight
	}{
		"a browser's": {"User-Agent", "Mozilla/5.0", false},
		"a cookie":    {"Cookie", "a=b", true},
		"a token":     {"Authorization", "Bearer x", true},
	} {
		t.Run(name, func(t *testing.T) {
			p, run := withBackend(nil, time.Now, &fakeBackend{}), asked("POST", "/", page)
			p.Hear(run, &http.Response{StatusCode: http.StatusOK, Header: leave(page)(page)})
			preflight := asked("OPTIONS", "/", page, "Access-Control-Request-Method", "POST", test.header, test.value)
			p.Hear(preflight, &http.Response{StatusCode: http.StatusNoContent, Header: http.Header{"Vary": {"*"}}})
			if got := p.recall(run).header != nil; got != test.permitted {
				t.Errorf("the page is permitted to read: %v", got)
			}
		})
	}
}

// TestABackendCannotSmuggleAHeader: a backend sends header values with line ends. It must not be
// able to add a header to responses that Holdpoint makes.
func TestABackendCannotSmuggleAHeader(t *testing.T) {
	for name, header := range map[string]http.Header{
		"in the origin":      {"Access-Control-Allow-Origin": {page + "\r\nX-Evil: 1"}},
		"in the names":       {"Access-Control-Allow-Origin": {page}, "Access-Control-Expose-Headers": {"X-A\r\nX-Evil: 1"}},
		"in the credentials": {"Access-Control-Allow-Origin": {page}, "Access-Control-Allow-Credentials": {"true\r\nX-Evil: 1"}},
		"in other letters":   {"Access-Control-Allow-Origin": {page}, "Access-Control-Expose-Headers": {"X-A\u010aX-Evil: 1"}},
	} {
		said := permissionOf(asked("POST", "/", page), &http.Response{StatusCode: http.StatusOK, Header: header})
		if strings.ContainsAny(fmt.Sprint(said), "\r\n\u010a") || said.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: %v", name, said)
		}
	}
}

package cors

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

const page, stranger = "https://app.example", "https://evil.example"

// A fakeBackend responds to a preflight with the header that answer returns. If answer is nil, it
// does not respond.
type fakeBackend struct {
	answer func(origin string) http.Header // nil: it does not answer
	policy *Policy
	sent   []*http.Request
}

func (b *fakeBackend) ServeHTTP(_ http.ResponseWriter, preflight *http.Request) {
	b.sent = append(b.sent, preflight)
	if b.answer != nil {
		b.policy.Hear(preflight, &http.Response{StatusCode: http.StatusOK, Header: b.answer(preflight.Header.Get("Origin"))})
	}
}

// withBackend returns a Policy that sends its preflights to backend.
func withBackend(origins []string, now func() time.Time, backend *fakeBackend) *Policy {
	backend.policy = New(origins, now, backend)
	return backend.policy
}

// leave returns a function that returns the header by which a backend permits an origin. If the
// origin is not one of origins, the header is empty.
func leave(origins ...string) func(origin string) http.Header {
	return func(origin string) http.Header {
		for _, one := range origins {
			if one == origin {
				return http.Header{"Access-Control-Allow-Origin": {origin}, "Access-Control-Allow-Credentials": {"true"}}
			}
		}
		return http.Header{}
	}
}

// asked returns the request of a page. If origin is "", the request has no Origin.
func asked(method, path, origin string, more ...string) *http.Request {
	req := httptest.NewRequest(method, path, nil)
	if origin != "" {
		req.Header.Set("Origin", origin)
	}
	for n := 0; n < len(more); n += 2 {
		req.Header.Add(more[n], more[n+1])
	}
	return req
}

// TestAllow checks which page may read a response that Holdpoint itself makes. Holdpoint decides
// this by earlier responses of the backend.
func TestAllow(t *testing.T) {
	said := func(status int, header http.Header) *http.Response {
		return &http.Response{StatusCode: status, Header: header}
	}
	type heard struct {
		req *http.Request
		res *http.Response
	}
	varying := leave(page)(page)
	varying.Set("Vary", "Accept, X-Tenant")
	exposing := leave(page)(page)
	exposing.Set("Access-Control-Expose-Headers", "X-A")
	for what, c := range map[string]struct {
		origins []string      // the operator's origins
		backend *fakeBackend  // nil: none, as for a Router
		heard   []heard       // earlier responses of the backend
		req     *http.Request // Holdpoint answers it itself; nil: no page asked
		header  http.Header   // the response's header before the call
		want    string        // Access-Control-Allow-Origin, or ""
		secret  bool          // Access-Control-Allow-Credentials
		expose  string        // Access-Control-Expose-Headers
		sent    int           // preflights to the backend
	}{
		"the operator's origin":               {origins: []string{page}, req: asked("POST", "/", page), want: page, secret: true},
		"an origin below the operator's":      {origins: []string{"https://*.example"}, req: asked("POST", "/", page), want: page, secret: true},
		"not the operator's origin":           {origins: []string{page}, req: asked("POST", "/", stranger)},
		"everybody's page has no credentials": {origins: []string{"*"}, req: asked("POST", "/", stranger), want: "*"},
		"the operator's origin, named twice":  {origins: []string{page}, req: asked("POST", "/", page, "Origin", page)},
		"the operator's word for the backend's": {
			origins: []string{page}, req: asked("POST", "/", stranger), header: http.Header{"Access-Control-Allow-Origin": {stranger}},
		},
		"the backend does not count beside an operator": {
			origins: []string{page}, backend: &fakeBackend{answer: leave(stranger)}, req: asked("POST", "/", stranger),
			heard: []heard{{asked("POST", "/", stranger), said(200, leave(stranger)(stranger))}},
		},
		"no backend":                        {req: asked("POST", "/", page)},
		"no page":                           {backend: &fakeBackend{answer: leave(page)}, req: asked("POST", "/", "")},
		"no request":                        {backend: &fakeBackend{answer: leave(page)}},
		"the backend is asked":              {backend: &fakeBackend{answer: leave(page)}, req: asked("POST", "/", page), want: page, secret: true, sent: 1},
		"the backend is asked, and says no": {backend: &fakeBackend{answer: leave(page)}, req: asked("POST", "/", stranger), sent: 1},
		"the backend does not answer":       {backend: &fakeBackend{}, req: asked("POST", "/", page), sent: 1},
		"a preflight is not asked about":    {backend: &fakeBackend{answer: leave(page)}, req: asked("OPTIONS", "/", page)},
		"a page of Holdpoint's own origin": {
			backend: &fakeBackend{answer: leave(page)}, req: asked("POST", "/", page, "Sec-Fetch-Site", "same-origin"),
		},
		"the backend has said it": {
			backend: &fakeBackend{}, heard: []heard{{asked("POST", "/", page), said(200, exposing)}},
			req: asked("POST", "/", page), want: page, secret: true, expose: "X-A",
		},
		"the backend has said it in this answer": {
			backend: &fakeBackend{answer: leave(page)}, req: asked("POST", "/", page), header: http.Header{"Access-Control-Allow-Origin": {"*"}}, want: "*",
		},
		"the backend has said it to another page": {
			backend: &fakeBackend{}, heard: []heard{{asked("POST", "/", page), said(200, leave(page)(page))}},
			req: asked("POST", "/", stranger), sent: 1,
		},
		"the backend has said it at another address": {
			backend: &fakeBackend{}, heard: []heard{{asked("POST", "/a", page), said(200, leave(page)(page))}},
			req: asked("POST", "/b", page), sent: 1,
		},
		"the backend has said it to other credentials": {
			backend: &fakeBackend{}, heard: []heard{{asked("POST", "/", page, "Cookie", "a=1"), said(200, leave(page)(page))}},
			req: asked("POST", "/", page, "Cookie", "a=2"), sent: 1,
		},
		"the backend has said it of a picture": {
			backend: &fakeBackend{}, heard: []heard{{asked("GET", "/", page), said(200, leave(page)(page))}},
			req: asked("POST", "/", page), sent: 1,
		},
		"the backend has said it of this picture": {
			backend: &fakeBackend{}, heard: []heard{{asked("GET", "/", page), said(200, leave(page)(page))}},
			req: asked("GET", "/", page), want: page, secret: true,
		},
		"the backend has said it, by another header of the request": {
			backend: &fakeBackend{},
			heard:   []heard{{asked("POST", "/", page, "X-Tenant", "a"), said(200, varying)}},
			req:     asked("POST", "/", page), sent: 1,
		},
		"the backend has said it, by the lack of another header": {
			backend: &fakeBackend{},
			heard:   []heard{{asked("POST", "/", page), said(200, varying)}},
			req:     asked("POST", "/", page, "X-Tenant", "a"), sent: 1,
		},
		"the backend has said it, by what no preflight has": {
			backend: &fakeBackend{},
			heard:   []heard{{asked("OPTIONS", "/", page, "Access-Control-Request-Method", "POST"), said(200, varying)}},
			req:     asked("POST", "/", page, "X-Tenant", "a"), want: page, secret: true,
		},
		"the backend has said it to a preflight that is no browser's": {
			backend: &fakeBackend{},
			heard:   []heard{{asked("OPTIONS", "/", page, "Access-Control-Request-Method", "POST", "X-Tenant", "a"), said(200, varying)}},
			req:     asked("POST", "/", page), sent: 1,
		},
		"the backend has taken it back": {
			backend: &fakeBackend{answer: leave(page)},
			heard:   []heard{{asked("POST", "/", page), said(200, leave(page)(page))}, {asked("POST", "/", page), said(200, http.Header{})}},
			req:     asked("POST", "/", page),
		},
		"a server that fails takes nothing back": {
			backend: &fakeBackend{},
			heard:   []heard{{asked("POST", "/", page), said(200, leave(page)(page))}, {asked("POST", "/", page), said(502, http.Header{})}},
			req:     asked("POST", "/", page), want: page, secret: true,
		},
		"an informational answer says nothing": {
			backend: &fakeBackend{}, heard: []heard{{asked("POST", "/", page), said(103, leave(page)(page))}},
			req: asked("POST", "/", page), sent: 1,
		},
		"an origin that is no browser's": {
			backend: &fakeBackend{answer: leave("*")}, heard: []heard{{asked("POST", "/", "*"), said(200, leave("*")("*"))}},
			req: asked("POST", "/", "*"),
		},
		"an origin that is too long": {
			backend: &fakeBackend{answer: leave(page)}, req: asked("POST", "/", "https://"+strings.Repeat("a", MaxOrigin)),
		},
	} {
		t.Run(what, func(t *testing.T) {
			p := New(c.origins, time.Now, nil)
			if c.backend != nil {
				p = withBackend(c.origins, time.Now, c.backend)
			}
			for _, h := range c.heard {
				p.Hear(h.req, h.res)
			}
			header := c.header
			if header == nil {
				header = http.Header{}
			}
			p.Allow(header, c.req)
			if got := strings.Join(header["Access-Control-Allow-Origin"], "|"); got != c.want {
				t.Errorf("Access-Control-Allow-Origin %q, want %q", got, c.want)
			}
			if got := header.Get("Access-Control-Allow-Credentials") == "true"; got != c.secret {
				t.Errorf("credentials: %t, want %t", got, c.secret)
			}
			if got := header.Get("Access-Control-Expose-Headers"); got != c.expose {
				t.Errorf("Access-Control-Expose-Headers %q, want %q", got, c.expose)
			}
			if !strings.Contains(strings.Join(header["Vary"], ","), "Origin") {
				t.Errorf("Vary %q: a cache would give the answer to others", header["Vary"])
			}
			if c.backend != nil && len(c.backend.sent) != c.sent {
				t.Errorf("the backend was asked %d times, want %d", len(c.backend.sent), c.sent)
			}
			if len(c.heard) == 1 && c.req.Header.Get("Origin") == "*" && p.known.Len() != 0 {
				t.Error("what was said to an origin that is no browser's is kept")
			}
		})
	}
}

// TestAge: Holdpoint knows what the backend permits. When AllowanceAge has passed, it must ask the
// backend again. If the backend does not respond, its last response must still count.
func TestAge(t *testing.T) {
	now := time.Now()
	backend := &fakeBackend{answer: leave(page)}
	p := withBackend(nil, func() time.Time { return now }, backend)
	for n, c := range []struct {
		passes time.Duration
		answer func(origin string) http.Header
		want   string
		sent   int // preflights so far
	}{
		{0, leave(page), page, 1},
		{AllowanceAge - time.Second, leave(), page, 1},
		{time.Second, nil, page, 2},
		{time.Second, leave(), "", 3},
		{AllowanceAge - time.Second, leave(page), "", 3},
		{time.Second, leave(page), page, 4},
	} {
		now, backend.answer = now.Add(c.passes), c.answer
		header := http.Header{}
		p.Allow(header, asked("POST", "/", page))
		if got := header.Get("Access-Control-Allow-Origin"); got != c.want || len(backend.sent) != c.sent {
			t.Errorf("step %d: %q after %d preflights, want %q after %d", n, got, len(backend.sent), c.want, c.sent)
		}
	}
}

// TestAnswers checks which preflights Holdpoint answers from the operator's list.
func TestAnswers(t *testing.T) {
	browsers := asked("OPTIONS", "/", page, "Access-Control-Request-Method", "POST")
	for what, c := range map[string]struct {
		origins []string
		req     *http.Request
		want    bool
	}{
		"a preflight":                     {[]string{page}, browsers, true},
		"a preflight of a stranger":       {[]string{page}, asked("OPTIONS", "/", stranger, "Access-Control-Request-Method", "POST"), true},
		"an OPTIONS that is no browser's": {[]string{page}, asked("OPTIONS", "/", page), false},
		"another request":                 {[]string{page}, asked("POST", "/", page, "Access-Control-Request-Method", "POST"), false},
		"no operator's word":              {nil, browsers, false},
	} {
		if got := New(c.origins, time.Now, &fakeBackend{}).Answers(c.req); got != c.want {
			t.Errorf("%s: %t, want %t", what, got, c.want)
		}
	}
}

func TestAddVary(t *testing.T) {
	for _, c := range []struct {
		before []string
		want   string
	}{
		{nil, "Origin"},
		{[]string{"Accept"}, "Accept|Origin"},
		{[]string{"Accept, origin"}, "Accept, origin"},
		{[]string{"*"}, "*"},
	} {
		header := http.Header{"Vary": c.before}
		AddVary(header, "Origin")
		if got := strings.Join(header["Vary"], "|"); got != c.want {
			t.Errorf("%q becomes %q, want %q", c.before, got, c.want)
		}
	}
}

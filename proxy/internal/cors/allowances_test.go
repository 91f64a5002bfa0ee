package cors

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestAllowancesAreBounded in number and in bytes, whatever clients and backends write.
func TestAllowancesAreBounded(t *testing.T) {
	a := newAllowances(time.Now, nil)
	hear := func(n, expose int) {
		origin := fmt.Sprintf("https://%0*d.example", MaxOrigin-20, n)
		req := httptest.NewRequest("POST", "/", nil)
		req.Header.Set("Origin", origin)
		a.hear(req, &http.Response{StatusCode: 200, Header: http.Header{
			"Access-Control-Allow-Origin": {origin}, "Access-Control-Expose-Headers": {strings.Repeat("x", expose)},
		}})
	}
	for n := range 3 * maxAllowances {
		hear(n, maxExpose)
	}
	sum := 0
	for _, one := range a.known.Values() {
		sum += one.size()
	}
	if sum > maxAllowanceBytes || sum != a.bytes || sum < maxAllowanceBytes/2 {
		t.Errorf("%d bytes are kept, counted as %d", sum, a.bytes)
	}
	req := httptest.NewRequest("POST", "/", nil)
	for n := range 3 * maxAllowances {
		req.Header.Set("Origin", fmt.Sprintf("https://%d.example", n))
		a.hear(req, &http.Response{StatusCode: 200, Header: http.Header{}})
	}
	if a.known.Len() > maxAllowances || a.bytes != a.known.Len()*allowanceBytes {
		t.Errorf("%d are kept, with %d bytes", a.known.Len(), a.bytes)
	}
	hear(1, maxExpose+1)
	req.Header.Set("Origin", fmt.Sprintf("https://%0*d.example", MaxOrigin-20, 1))
	if said, _ := a.recall(req, req.Header.Get("Origin")); said.origin == "" || said.expose != "" {
		t.Errorf("a long list of exposed headers: %+v", said)
	}
}

// TestABackendCannotSmuggleAHeader into answers of our own: what it says is compared, or is names
// only.
func TestABackendCannotSmuggleAHeader(t *testing.T) {
	for name, header := range map[string]http.Header{
		"in the origin":      {"Access-Control-Allow-Origin": {page + "\r\nX-Evil: 1"}},
		"in the names":       {"Access-Control-Allow-Origin": {page}, "Access-Control-Expose-Headers": {"X-A\r\nX-Evil: 1"}},
		"in the credentials": {"Access-Control-Allow-Origin": {page}, "Access-Control-Allow-Credentials": {"true\r\nX-Evil: 1"}},
		"in other letters":   {"Access-Control-Allow-Origin": {page}, "Access-Control-Expose-Headers": {"X-A\u010aX-Evil: 1"}},
	} {
		said := read(header, page)
		if strings.ContainsAny(said.origin+said.expose, "\r\n\u010a") || said.credentials {
			t.Errorf("%s: %+v", name, said)
		}
	}
}

package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"holdpoint/translate"
)

// A guardedDialect forwards only two requests that are not runs: GET /open, and DELETE /run, which
// is the agent's path.
type guardedDialect struct{ foreignDialect }

func (*guardedDialect) Refusal(l translate.RequestLine) string {
	if l.Query == "stops" || !l.Run && l.Method+" "+l.Path != "GET /open" && l.Method+" "+l.Path != "DELETE /run" {
		return "not on the list"
	}
	return ""
}

// TestAGuardSaysWhatElsePasses: a request that the dialect's guard allows must reach the backend.
// Holdpoint must refuse any other request, with a status of its own.
func TestAGuardSaysWhatElsePasses(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) { io.WriteString(w, "theirs") },
		func(o *Options) { o.Dialect = &guardedDialect{} })
	const run = `{"threadId":"t","runId":"r","messages":[]}`
	for _, c := range []struct {
		line, header, body string
		status             int
		allow              string
	}{
		{line: "GET /open", status: 200},
		{line: "OPTIONS /other", header: "Access-Control-Request-Method: POST", status: 200},
		{line: "OPTIONS /other", header: "Access-Control-Request-Method: POST", body: "x", status: 405},
		{line: "DELETE /run", status: 200},
		{line: "PUT /run", status: 405, allow: "POST, DELETE"},
		{line: "PUT /run", body: run, status: 405, allow: "POST, DELETE"},
		{line: "GET /run", status: 405, allow: "POST, DELETE"},
		{line: "POST /run", body: "{}", status: 400},
		{line: "POST /", body: run, status: 200},
		{line: "POST /?stops", body: run, status: 400},
		{line: "POST /open", body: run, status: 405, allow: "GET"},
		{line: "GET /open", body: "x", status: 405, allow: "GET"},
		{line: "GET /open", header: "X-HTTP-Method-Override: DELETE", status: 405, allow: "GET"},
		{line: "GET /open", header: "x-method-override: DELETE", status: 405, allow: "GET"},
		{line: "GET /open", header: "X-HTTP-Method:", status: 405, allow: "GET"},
		{line: "GET /open", header: "Connection: Upgrade\r\nUpgrade: websocket", status: 405, allow: "GET"},
		{line: "GET /open", header: "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA", status: 200},
		{line: "GET /open/", status: 405},
		{line: "GET //open", status: 405},
		{line: "GET /%6fpen", status: 405},
		{line: "GET /x/../open", status: 400},
		{line: "get /open", status: 405, allow: "GET"},
		{line: "OPTIONS /open", status: 405, allow: "GET"},
	} {
		before := g.called()
		res := raw(t, g.front.Listener.Addr().String(), c.line, c.header, c.body)
		reached := g.called() > before
		if res.StatusCode != c.status || reached != (c.status == 200) || c.status == 405 && strings.Join(res.Header["Allow"], "|") != c.allow {
			t.Errorf("%s %s: %d, reached: %v, Allow: %q", c.line, c.header, res.StatusCode, reached, res.Header["Allow"])
		}
	}
}

// raw sends a request with exactly these bytes, without Go's HTTP client.
func raw(t *testing.T, addr, line, header, body string) *http.Response {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if header != "" {
		header += "\r\n"
	}
	if body != "" {
		header += fmt.Sprintf("Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: x\r\n%s\r\n%s", line, header, body)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	io.Copy(io.Discard, res.Body)
	return res
}

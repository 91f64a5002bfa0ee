package front

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// serving starts an http.Server with a Listener. If Refused has a status for a request, the handler
// responds with this status. Otherwise it responds with 200, and with the method and body length of
// the request.
func serving(t *testing.T, o Options) (address string, s *http.Server) {
	t.Helper()
	s = &http.Server{ReadHeaderTimeout: o.HeaderTimeout, Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if status, reason := Refused(req.Context()); status != 0 {
			w.Header().Set("Connection", "close")
			http.Error(w, reason, status)
			return
		}
		if req.Header.Get("Upgrade") != "" {
			conn, buffered, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n")
			io.CopyN(conn, buffered, int64(len(upgraded)))
			return
		}
		body, err := io.ReadAll(req.Body)
		fmt.Fprintf(w, "%s %d %v %v\n", req.Method, len(body), err, req.TLS != nil)
	})}
	Attach(s)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go s.Serve(Listen(l, o))
	t.Cleanup(func() { s.Close() })
	return l.Addr().String(), s
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(30 * time.Second)) // ends a test that would hang
	return c
}

// statuses reads all responses until the connection ends, and returns their status codes.
func statuses(r io.Reader) (list []string) {
	b := bufio.NewReader(r)
	for {
		res, err := http.ReadResponse(b, nil)
		if err != nil {
			return list
		}
		io.Copy(io.Discard, res.Body)
		res.Body.Close()
		list = append(list, res.Status[:3])
	}
}

// TestTwoLengths: if two servers could read different lengths of a request, the request must be
// refused, and the bytes after it must not be read as a further request. All other requests must be
// accepted, alone or several at once, however their bytes are split.
func TestTwoLengths(t *testing.T) {
	const last = "GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
	const smuggled = "0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
	const both = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n" + smuggled
	for name, c := range map[string]struct {
		sent string
		want string
	}{
		"a body of each kind": {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello" +
			"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\nA\r\n0123456789\r\n0\r\nX: y\r\n\r\n" + last, "200 200 200"},
		"a body that looks like a header": {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 44\r\n\r\nContent-Length: 1\r\nTransfer-Encoding: chunked" + last, "200 200"},
		"a chunk that looks like one":     {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n13\r\nContent-Length: 1\r\n\r\n0\r\n\r\n" + last, "200 200"},
		"a long header":                   {"GET / HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("Content-Length: 1 ", 300) + "\r\n\r\n" + last, "200 200"},
		"lines without CR":                {"POST / HTTP/1.1\nHost: x\nContent-Length: 5\n\nhello" + last, "200 200"},
		"an empty line before":            {"GET / HTTP/1.1\r\nHost: x\r\n\r\n" + last, "200 200"},
		"the same length twice":           {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello" + last, "200 200"},

		"both":             {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n" + smuggled, "400"},
		"both, in turn":    {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n" + smuggled, "400"},
		"both, shouted":    {"POST / HTTP/1.1\r\nHost: x\r\nCONTENT-LENGTH: 4\r\ntransfer-encoding: Chunked\r\n\r\n" + smuggled, "400"},
		"both, behind one": {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhelloPOST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n" + smuggled, "200 400"},
		"HTTP/1.0":         {"POST / HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + smuggled, "400"},
		"a folded header":  {"POST / HTTP/1.1\r\nHost: x\r\nX: y\r\n Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\nhello", "400"},

		// The same with long lines, with unusual lengths, and after other bytes on the connection.
		"both, far to the right":       {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length:" + strings.Repeat(" ", 400) + "4\r\nTransfer-Encoding: chunked\r\n\r\n" + smuggled, "400"},
		"both, a length of zeros":      {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: " + strings.Repeat("0", 400) + "4\r\nTransfer-Encoding: chunked\r\n\r\n" + smuggled, "400"},
		"HTTP/1.0, a long target":      {"POST /" + strings.Repeat("a", 400) + " HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + smuggled, "400"},
		"both, no number":              {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +4\r\nTransfer-Encoding: chunked\r\n\r\n" + smuggled, "400"},
		"both, two numbers":            {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\n" + smuggled, "400"},
		"both, a list":                 {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4, 4\r\nTransfer-Encoding: chunked\r\n\r\n" + smuggled, "400"},
		"a length of zeros":            {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: " + strings.Repeat("0", 400) + "5\r\n\r\nhello", "400"},
		"behind the preface of HTTP/2": {"PRI * HTTP/2.0\r\n\r\n" + both, "200"},
		"behind a length of zeros":     {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: " + strings.Repeat("0", 100) + "18\r\n\r\nPRI * HTTP/2.0\r\n\r\n" + both, "200 400"},
		"behind a length to the right": {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length:" + strings.Repeat(" ", 200) + "5\r\n\r\nhello" + both, "200 400"},
		"behind the word of HTTP/2":    {"PRI * HTTP/2.0\r\nHost: x\r\nX: y\r\n\r\n" + both, "200 400"},
		"behind a long trailer":        {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: " + strings.Repeat("a", 400) + "\r\n\r\n" + both, "200 400"},
		"behind an empty line":         {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello\r\n" + both, "200 400"},

		// net/http itself refuses these requests.
		"two lengths":     {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!", "400"},
		"a list of them":  {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5, 5\r\n\r\nhello", "400"},
		"a space":         {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding : chunked\r\n\r\n" + smuggled, "400"},
		"another coding":  {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n" + smuggled, "501"},
		"no coding":       {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n" + smuggled, "501"},
		"a signed length": {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +5\r\n\r\nhello", "400"},
	} {
		t.Run(name, func(t *testing.T) {
			address, _ := serving(t, Options{})
			for _, piece := range []int{len(c.sent), 7, 1} {
				conn := dial(t, address)
				go func() {
					for rest := c.sent; rest != ""; {
						n, err := io.WriteString(conn, rest[:min(piece, len(rest))])
						if err != nil {
							return
						}
						rest = rest[n:]
					}
				}()
				got := strings.Join(statuses(conn), " ")
				want := c.want
				if rest, behind := strings.CutPrefix(want, "200 "); behind && rest == "400" {
					// If both requests arrive before the first is handled, the refusal of the
					// second also refuses the first.
					got, want = strings.TrimPrefix(got, "200 "), rest
				}
				if got != want {
					t.Errorf("in pieces of %d: %s, want %s", piece, got, want)
				}
			}
		})
	}
}

// FuzzFraming: framing must find the ends of requests where net/http finds them, unless it refuses
// a request.
func FuzzFraming(f *testing.F) {
	f.Add("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello", 3)
	f.Add("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nX: y\r\n\r\nGET / HTTP/1.1\r\n\r\n", 1)
	f.Fuzz(func(t *testing.T, sent string, piece int) {
		whole, cut := newFraming(), newFraming()
		whole.parse([]byte(sent))
		for rest := sent; rest != "" && cut.refusal == ""; {
			n := min(max(piece%64, 1), len(rest))
			cut.parse([]byte(rest[:n]))
			rest = rest[n:]
		}
		if whole.refusal != cut.refusal {
			t.Errorf("%q in one piece, %q in some", whole.refusal, cut.refusal)
		}
		r := bufio.NewReader(strings.NewReader(sent))
		requests := 0
		for {
			req, err := http.ReadRequest(r)
			if err != nil {
				return // net/http does not read the bytes that follow
			}
			if _, err = io.Copy(io.Discard, req.Body); err != nil {
				return
			}
			requests++
			one := newFraming()
			read := len(sent) - r.Buffered()
			if r.Buffered() == 0 {
				return
			}
			if one.parse([]byte(sent[:read])); one.refusal == "" && one.state != nil && one.hasBegun {
				t.Errorf("the end of request %d at %d is within one", requests, read)
			}
		}
	})
}

// TestHeaderThatComesTooLate: if a client's header arrives too slowly, or not completely, the
// client must get 408. If no byte arrives on a connection, it must be closed without a response.
func TestHeaderThatComesTooLate(t *testing.T) {
	address, _ := serving(t, Options{HeaderTimeout: 200 * time.Millisecond})
	dripping := dial(t, address)
	go func() {
		for {
			if _, err := io.WriteString(dripping, "G"); err != nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	if got := strings.Join(statuses(dripping), " "); got != "408" {
		t.Errorf("drop by drop: %q", got)
	}
	conn := dial(t, address)
	io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n")
	if got := strings.Join(statuses(conn), " "); got != "408" {
		t.Errorf("half a header: %q", got)
	}
	if got := statuses(dial(t, address)); got != nil {
		t.Errorf("nothing: %q", got)
	}
}

// TestTooManyConnections: connections above the limit must be refused with a status, and
// connections far above the limit must be closed without a response. When one connection ends, a
// new one must be accepted.
func TestTooManyConnections(t *testing.T) {
	const ask = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
	for name, c := range map[string]struct {
		o      Options
		status int
	}{
		"in total":          {Options{Connections: 2}, 503},
		"of an address":     {Options{PerAddress: 2}, 429},
		"of a proxy":        {Options{PerAddress: 2, IsExempt: func(netip.Addr) bool { return true }}, 200},
		"of a proxy, total": {Options{Connections: 2, PerAddress: 2, IsExempt: func(netip.Addr) bool { return true }}, 503},
	} {
		t.Run(name, func(t *testing.T) {
			said := make(chan int, 100)
			c.o.OnFull = func(status int) { said <- status }
			address, _ := serving(t, c.o)
			status := func(conn net.Conn) int {
				io.WriteString(conn, ask)
				res, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					return 0
				}
				return res.StatusCode
			}
			first := dial(t, address)
			if got := status(first); got != 200 {
				t.Fatal(got)
			}
			second := dial(t, address)
			if got := status(second); got != 200 {
				t.Fatal(got)
			}
			third := dial(t, address)
			if got := status(third); got != c.status {
				t.Errorf("the third: %d, want %d", got, c.status)
			}
			if c.status == 200 {
				return
			}
			if got := <-said; got != c.status {
				t.Errorf("said %d", got)
			}
			var over []net.Conn
			for range 16 + 3 { // the last 3 are closed without a response
				over = append(over, dial(t, address))
			}
			for range 16 + 3 {
				<-said
			}
			if got := status(over[len(over)-1]); got != 0 {
				t.Errorf("far above: %d", got)
			}
			for _, conn := range append(over, first, third) {
				conn.Close()
			}
			got := 0
			for range 500 { // the server needs some time to notice closed connections
				conn := dial(t, address)
				if got = status(conn); got == 200 {
					break
				}
				conn.Close()
				time.Sleep(5 * time.Millisecond)
			}
			if got != 200 {
				t.Errorf("the place of the first was not given back: %d", got)
			}
		})
	}
}

// TestRequestsThatOutliveTheirClients: a request that continues without its client counts as a
// connection until it ends. At the limit, requests on connections that are already open must be
// refused too.
func TestRequestsThatOutliveTheirClients(t *testing.T) {
	for name, c := range map[string]struct {
		o      Options
		status int
	}{
		"in total":          {Options{Connections: 3}, 503},
		"of an address":     {Options{PerAddress: 3}, 429},
		"of a proxy":        {Options{PerAddress: 3, IsExempt: func(netip.Addr) bool { return true }}, 200},
		"of a proxy, total": {Options{Connections: 3, PerAddress: 3, IsExempt: func(netip.Addr) bool { return true }}, 503},
	} {
		t.Run(name, func(t *testing.T) {
			var frees []func()
			s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				if status, reason := Refused(req.Context()); status != 0 {
					http.Error(w, reason, status)
					return
				}
				frees = append(frees, HoldPlace(req.Context()))
			})}
			Attach(s)
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			listener := Listen(l, c.o)
			go s.Serve(listener)
			t.Cleanup(func() { s.Close() })
			status := func() (int, net.Conn) {
				conn := dial(t, l.Addr().String())
				io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
				res, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					t.Fatal(err)
				}
				return res.StatusCode, conn
			}
			var first net.Conn
			for range 3 {
				got, conn := status()
				if got != 200 {
					t.Fatalf("%d with room", got)
				}
				if first == nil {
					first = conn
				} else {
					conn.Close()
				}
			}
			// The requests count, whether or not the server has noticed that two clients have left.
			r := &listener.counter
			r.mu.Lock()
			if r.count != 3 || r.outliving != 3 {
				t.Errorf("%d places, %d alone", r.count, r.outliving)
			}
			r.mu.Unlock()
			if got, _ := status(); got != c.status {
				t.Errorf("a new connection: %d, want %d", got, c.status)
			}
			io.WriteString(first, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
			if res, err := http.ReadResponse(bufio.NewReader(first), nil); err != nil || res.StatusCode != c.status {
				t.Errorf("on a connection that is open: %v %v", res, err)
			}
			for _, free := range frees {
				free()
			}
			r.mu.Lock()
			if r.outliving != 0 || len(r.outlivingOf) != 0 {
				t.Errorf("what is left: %d alone, %d of addresses", r.outliving, len(r.outlivingOf))
			}
			r.mu.Unlock()
			got := 0
			for range 500 { // the server needs some time to notice closed connections
				var conn net.Conn
				if got, conn = status(); got == 200 {
					break
				}
				conn.Close()
				time.Sleep(5 * time.Millisecond)
			}
			if got != 200 {
				t.Errorf("when they are over: %d", got)
			}
		})
	}
	HoldPlace(t.Context())() // a context without a connection: nothing may happen
}

func TestNetwork(t *testing.T) {
	for remote, want := range map[string]string{
		"192.0.2.1:80": "192.0.2.1", "[::ffff:192.0.2.1]:80": "192.0.2.1", "[2001:db8:1:2:3::4]:80": "2001:db8:1:2::", "[fe80::1%eth0]:80": "fe80::", "@": "", "": "",
	} {
		addr, ok := Network(remote)
		if ok != (want != "") || ok && addr.String() != want {
			t.Errorf("%s: %s", remote, addr)
		}
	}
}

// TestSwitchedProtocol: bytes that follow an upgrade must not be parsed as requests.
func TestSwitchedProtocol(t *testing.T) {
	address, _ := serving(t, Options{})
	conn := dial(t, address)
	io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n")
	r := bufio.NewReader(conn)
	if res, err := http.ReadResponse(r, nil); err != nil || res.StatusCode != 101 {
		t.Fatal(res, err)
	}
	io.WriteString(conn, upgraded)
	if got, _ := io.ReadAll(r); string(got) != upgraded {
		t.Errorf("%q", got)
	}
}

// upgraded is sent after an upgrade. A server that parses it as a request would refuse it.
const upgraded = "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0123456789"

// TestWithTLS: HTTP/1 and HTTP/2 must work over TLS, and the same requests must be refused as
// without TLS. A slow handshake must not delay other connections. A client that sends plain HTTP
// must be told to use TLS.
func TestWithTLS(t *testing.T) {
	other := httptest.NewTLSServer(nil)
	defer other.Close()
	failed := make(chan error, 10)
	address, s := serving(t, Options{
		TLS:           &tls.Config{Certificates: other.TLS.Certificates, NextProtos: []string{"h2", "http/1.1"}},
		HeaderTimeout: 5 * time.Second, OnHandshakeFailure: func(_ net.Addr, err error) { failed <- err },
	})
	slow := dial(t, address) // sends nothing
	for _, http2 := range []bool{true, false} {
		transport := other.Client().Transport.(*http.Transport).Clone()
		transport.Protocols = new(http.Protocols)
		transport.Protocols.SetHTTP1(!http2)
		transport.Protocols.SetHTTP2(http2)
		res, err := (&http.Client{Transport: transport}).Post("https://"+address, "text/plain", strings.NewReader("hello"))
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if string(body) != "POST 5 <nil> true\n" || (res.ProtoMajor == 2) != http2 {
			t.Errorf("%s %q", res.Proto, body)
		}
		transport.CloseIdleConnections()
	}
	inside, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer inside.Close()
	io.WriteString(inside, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
	if got := strings.Join(statuses(inside), " "); got != "400" {
		t.Errorf("two lengths inside TLS: %q", got)
	}
	plain := dial(t, address)
	io.WriteString(plain, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	if got, _ := io.ReadAll(plain); !strings.Contains(string(got), "a port with TLS") {
		t.Errorf("%q", got)
	}
	<-failed
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	if _, err := slow.Read(make([]byte, 1)); !errors.Is(err, io.EOF) && !strings.Contains(err.Error(), "reset") {
		t.Errorf("the handshake goes on behind the end: %v", err)
	}
}

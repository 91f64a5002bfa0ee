//go:build unix

package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"holdpoint/internal/test/authority"
)

// endless returns a backend whose streams never end. After RUN_STARTED a stream repeats piece, if
// piece is not "". The channel over receives one value for each stream that the client closes.
func endless(t *testing.T, piece string) (s *httptest.Server, over chan struct{}) {
	over = make(chan struct{}, 10)
	s = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, `data: {"type":"RUN_STARTED","threadId":"t","runId":"r"}`+"\n\n")
		http.NewResponseController(w).Flush()
		for piece != "" && r.Context().Err() == nil {
			io.WriteString(w, piece)
		}
		<-r.Context().Done()
		over <- struct{}{}
	}))
	t.Cleanup(s.Close)
	t.Cleanup(s.CloseClientConnections)
	return s, over
}

const aRun = `{"threadId":"t","runId":"r","messages":[],"forwardedProps":{}}`

// TestCertificatesAreReplaced: while a stream is open, the certificates that Holdpoint shows to
// clients and to the backend change: first in a folder with the links that a kubelet makes, then at
// the signal HUP. New connections must use the new certificates, the open stream must continue, and
// a bad file must change nothing.
func TestCertificatesAreReplaced(t *testing.T) {
	t.Parallel() // Holdpoint checks the files every five seconds
	clients, backends := authority.New(t), authority.New(t)
	front, up := authority.NewFolder(t), authority.NewFolder(t)
	front.Issue(clients, "old.example")
	backendCert, backendKey := backends.Certificate("agent.example")
	backend, over := endless(t, "")
	pair, err := tls.X509KeyPair(backendCert, backendKey)
	if err != nil {
		t.Fatal(err)
	}
	seen := make(chan string, 100)
	backend.TLS = &tls.Config{
		Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: backends.Pool(),
		VerifyConnection: func(s tls.ConnectionState) error { seen <- s.PeerCertificates[0].Subject.CommonName; return nil },
	}
	backend.StartTLS()
	up.Issue(backends, "holdpoint-1")
	p, addr := start(t, "HOLDPOINT_UPSTREAM="+backend.URL, "HOLDPOINT_DIALECT=agui", "HOLDPOINT_UPSTREAM_SERVER_NAME=agent.example",
		"HOLDPOINT_UPSTREAM_CA_FILE="+up.Path("ca.crt"), "HOLDPOINT_UPSTREAM_CERT_FILE="+up.Path("tls.crt"), "HOLDPOINT_UPSTREAM_KEY_FILE="+up.Path("tls.key"),
		"HOLDPOINT_TLS_CERT_FILE="+front.Path("tls.crt"), "HOLDPOINT_TLS_KEY_FILE="+front.Path("tls.key"), "HOLDPOINT_TLS_CLIENT_CA_FILE="+front.Path("ca.crt"),
		"HOLDPOINT_DRAIN_DELAY=0")
	cert, key := clients.Certificate("client")
	own, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	// run connects to Holdpoint as the server name, starts a run, and returns its stream after the
	// first bytes "data: ".
	run := func(name string, config *tls.Config) (io.ReadCloser, error) {
		config = config.Clone()
		config.RootCAs, config.ServerName = clients.Pool(), name
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}}
		t.Cleanup(client.CloseIdleConnections)
		res, err := client.Post("https://"+addr, "application/json", strings.NewReader(aRun))
		if err != nil {
			return nil, err
		}
		t.Cleanup(func() { res.Body.Close() })
		if res.ProtoMajor != 2 {
			t.Errorf("%s", res.Proto)
		}
		_, err = io.ReadFull(res.Body, make([]byte, len("data: ")))
		return res.Body, err
	}
	with := &tls.Config{Certificates: []tls.Certificate{own}}
	if _, err := run("old.example", &tls.Config{}); err == nil {
		t.Error("a client without a certificate was let in")
	}
	stream, err := run("old.example", with)
	if err != nil {
		t.Fatal(err)
	}
	if got := <-seen; got != "holdpoint-1" {
		t.Errorf("the backend saw %s", got)
	}

	front.Issue(clients, "new.example")
	p.wait(t, "read again") // at the next check, without HUP
	if _, err := run("new.example", with); err != nil {
		t.Errorf("the new certificate: %v", err)
	}
	<-seen
	if _, err := run("old.example", with); err == nil {
		t.Error("the old certificate is still shown")
	}
	up.Issue(backends, "holdpoint-2")
	hangup(t, p)
	if _, err := run("new.example", with); err != nil {
		t.Error(err)
	}
	if got := <-seen; got != "holdpoint-2" {
		t.Errorf("the backend saw %s", got)
	}
	bad := map[string][]byte{"tls.crt": []byte("nothing"), "tls.key": []byte("nothing"), "ca.crt": []byte("nothing")}
	front.Put(bad)
	up.Put(bad)
	hangup(t, p)
	if _, err := run("new.example", with); err != nil {
		t.Errorf("after a bad file: %v", err)
	}
	if got := <-seen; got != "holdpoint-2" {
		t.Errorf("after a bad file the backend saw %s", got)
	}
	select {
	case <-over:
		t.Error("a stream was cut")
	default:
	}
	stream.Close()
	<-over // the first stream was open until now
}

// TestProbesWithTLS: Holdpoint's clients, the desk and the backend use TLS. The admin listener must
// still answer the kubelet and Prometheus without TLS, and so must the subcommand healthcheck. The
// backend requires a certificate, which /agentz does not need, because it only opens a connection.
func TestProbesWithTLS(t *testing.T) {
	a, files := authority.New(t), authority.NewFolder(t)
	files.Issue(a, "holdpoint")
	backend, _ := endless(t, "")
	backend.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: a.Pool()}
	backend.StartTLS()
	probes := freeAddress(t)
	_, addr := start(t, "HOLDPOINT_UPSTREAM="+backend.URL, "HOLDPOINT_ADMIN_LISTEN="+probes, "HOLDPOINT_UPSTREAM_CA_FILE="+files.Path("ca.crt"),
		"HOLDPOINT_TLS_CERT_FILE="+files.Path("tls.crt"), "HOLDPOINT_TLS_KEY_FILE="+files.Path("tls.key"), "HOLDPOINT_TLS_CLIENT_CA_FILE="+files.Path("ca.crt"),
		"HOLDPOINT_DESK_LISTEN=127.0.0.1:0", "HOLDPOINT_DESK_TOKEN="+strings.Repeat("t", 40))
	until(t, probes, "ready", 0, "store: ok")
	for path, want := range map[string]string{"/startupz": "ok", "/readyz": "ready", "/healthz": "ok", "/agentz": "accepts connections", "/metrics": "holdpoint_store_up 1"} {
		res, err := http.Get("http://" + probes + path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != http.StatusOK || !strings.Contains(string(text), want) {
			t.Errorf("%s: %s, %v, %.200s, want %s", path, res.Status, err, text, want)
		}
	}
	if res, err := http.Get("http://" + addr); err == nil {
		res.Body.Close()
		if res.StatusCode != http.StatusBadRequest {
			t.Errorf("a client without TLS gets %s", res.Status)
		}
	}
}

// hangup sends HUP, and waits until Holdpoint has read all files again.
func hangup(t *testing.T, p *process) {
	t.Helper()
	if err := p.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	p.wait(t, "reloaded")
}

func TestTLSConfiguration(t *testing.T) {
	a := authority.New(t)
	f := authority.NewFolder(t)
	f.Issue(a, "x")
	other, _ := a.Certificate("y")
	f.Put(map[string][]byte{"tls.crt": other, "tls.key": []byte("secret"), "ca.crt": a.PEM()})
	for _, tt := range []struct{ set, want string }{
		{"HOLDPOINT_TLS_CERT_FILE=x", "config: HOLDPOINT_TLS_CERT_FILE and HOLDPOINT_TLS_KEY_FILE: a certificate and its key are set together"},
		{"HOLDPOINT_UPSTREAM_KEY_FILE=x", "config: HOLDPOINT_UPSTREAM_CERT_FILE and HOLDPOINT_UPSTREAM_KEY_FILE: a certificate and its key are set together"},
		{"HOLDPOINT_TLS_CLIENT_CA_FILE=x", `config: HOLDPOINT_TLS_CLIENT_CA_FILE "x": clients send certificates over TLS only`},
		{"HOLDPOINT_UPSTREAM=http://x HOLDPOINT_UPSTREAM_CA_FILE=x", `config: HOLDPOINT_UPSTREAM_CA_FILE "x": HOLDPOINT_UPSTREAM begins with http://`},
		{"HOLDPOINT_UPSTREAM_CA_FILE=/nowhere", "config: HOLDPOINT_UPSTREAM_CA_FILE: open /nowhere"},
		{"HOLDPOINT_TLS_CERT_FILE=" + f.Path("tls.crt") + " HOLDPOINT_TLS_KEY_FILE=" + f.Path("tls.key"), "config: HOLDPOINT_TLS_CERT_FILE, HOLDPOINT_TLS_KEY_FILE: " + f.Path("tls.crt")},
		{"HOLDPOINT_WRITE_TIMEOUT=0", `config: HOLDPOINT_WRITE_TIMEOUT "0": want at least 1s`},
		{"HOLDPOINT_MAX_HEADER_BYTES=1KiB", `config: HOLDPOINT_MAX_HEADER_BYTES "1KiB": want 4KiB to 16MiB`},
	} {
		stdout, stderr, code := holdpoint(t, append([]string{"HOLDPOINT_UPSTREAM=https://x.example"}, strings.Fields(tt.set)...), "check")
		if code != 2 || !strings.Contains(stderr, tt.want) || strings.Contains(stderr, "secret") || stdout != "" {
			t.Errorf("%s: exit %d\n%s%s", tt.set, code, stdout, stderr)
		}
	}
}

// TestHostileClients: some clients waste time or memory. At the configured limits, Holdpoint must
// cut them off.
func TestHostileClients(t *testing.T) {
	backend, over := endless(t, `data: {"type":"CUSTOM","name":"x","value":"`+strings.Repeat("x", 64<<10)+`"}`+"\n\n")
	backend.Start()
	p, addr := start(t, "HOLDPOINT_UPSTREAM="+backend.URL, "HOLDPOINT_DIALECT=agui", "HOLDPOINT_HEADER_TIMEOUT=1s", "HOLDPOINT_WRITE_TIMEOUT=1s",
		"HOLDPOINT_MAX_HEADER_BYTES=8KiB", "HOLDPOINT_MAX_CONNECTIONS=6", "HOLDPOINT_ADDRESS_CONNECTIONS=5", "HOLDPOINT_CORS_ORIGINS=*", "HOLDPOINT_H2C=true")
	dial := func(t *testing.T, sent string) net.Conn {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		conn.SetDeadline(time.Now().Add(time.Minute)) // so that a hanging test fails
		io.WriteString(conn, sent)
		return conn
	}
	answer := func(t *testing.T, conn net.Conn) (status int, text string, header http.Header) {
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Error(err)
			return 0, "", nil
		}
		b, _ := io.ReadAll(res.Body)
		return res.StatusCode, string(b), res.Header
	}
	const head = "POST / HTTP/1.1\r\nHost: x\r\nOrigin: https://x.example\r\n"
	t.Run("drip-fed headers", func(t *testing.T) {
		conn := dial(t, head)
		go func() {
			for {
				if _, err := io.WriteString(conn, "X: y\r\n"); err != nil {
					return
				}
				time.Sleep(50 * time.Millisecond)
			}
		}()
		if status, text, _ := answer(t, conn); status != 408 || !strings.Contains(text, "HOLDPOINT_HEADER_TIMEOUT") {
			t.Errorf("%d %s", status, text)
		}
	})
	t.Run("a large header", func(t *testing.T) {
		conn := dial(t, head+"X: "+strings.Repeat("y", 16<<10)+"\r\n\r\n")
		if status, _, _ := answer(t, conn); status != 431 {
			t.Errorf("%d", status)
		}
	})
	t.Run("two lengths", func(t *testing.T) {
		conn := dial(t, head+"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
		if status, text, header := answer(t, conn); status != 400 || !strings.Contains(text, "both Content-Length and") || header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%d %s %v", status, text, header)
		}
	})
	t.Run("HTTP/2 without TLS", func(t *testing.T) {
		transport := &http.Transport{Protocols: new(http.Protocols)}
		transport.Protocols.SetUnencryptedHTTP2(true)
		defer transport.CloseIdleConnections()
		res, err := (&http.Client{Transport: transport}).Post("http://"+addr, "application/json", strings.NewReader("{"))
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.ProtoMajor != 2 || res.StatusCode != 400 {
			t.Errorf("%s %s", res.Proto, res.Status)
		}
	})
	t.Run("a client that reads nothing", func(t *testing.T) {
		conn := dial(t, head+"Content-Type: application/json\r\nContent-Length: "+strconv.Itoa(len(aRun))+"\r\n\r\n"+aRun)
		select {
		case <-over:
		case <-time.After(30 * time.Second):
			t.Error("the backend writes for nobody")
		}
		conn.Close()
	})
	t.Run("too many connections", func(t *testing.T) {
		for range 6 {
			dial(t, "GET / HTTP/1.1\r\nHost: x\r\n")
		}
		conn := dial(t, "GET / HTTP/1.1\r\nHost: x\r\nOrigin: https://x.example\r\n\r\n")
		if status, text, header := answer(t, conn); status != 429 && status != 503 || !strings.Contains(text, "CONNECTIONS") || header.Get("Retry-After") == "" || header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%d %s %v", status, text, header)
		}
		if line := p.wait(t, "connections are refused: there are too many (logged once a minute at most)"); line["variable"] == nil {
			t.Errorf("%v", line)
		}
	})
}

// TestRunsWithoutTheirClientsAreBounded: with HOLDPOINT_ON_DISCONNECT=finish, a run continues after
// its client has left. The run must still count as one of the connections of that client's address.
// This also holds for HTTP/2, where the connection itself may stay open.
func TestRunsWithoutTheirClientsAreBounded(t *testing.T) {
	for _, proto := range []int{1, 2} {
		t.Run(fmt.Sprint("HTTP/", proto), func(t *testing.T) {
			release := make(chan struct{})
			backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				io.WriteString(w, "data: {\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"r\"}\n\n")
				w.(http.Flusher).Flush()
				<-release
				io.WriteString(w, "data: {\"type\":\"RUN_FINISHED\",\"threadId\":\"t\",\"runId\":\"r\"}\n\n")
			}))
			defer backend.Close()
			end := sync.OnceFunc(func() { close(release) })
			defer end()
			p, addr := start(t, "HOLDPOINT_UPSTREAM="+backend.URL, "HOLDPOINT_DIALECT=agui", "HOLDPOINT_ON_DISCONNECT=finish", "HOLDPOINT_ADDRESS_CONNECTIONS=3", "HOLDPOINT_H2C=true")
			transport := &http.Transport{Protocols: new(http.Protocols)}
			transport.Protocols.SetHTTP1(proto == 1)
			transport.Protocols.SetUnencryptedHTTP2(proto == 2)
			defer transport.CloseIdleConnections()
			client := &http.Client{Transport: transport}
			post := func(ctx context.Context, thread string) (*http.Response, error) {
				req, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr, strings.NewReader(strings.Replace(aRun, `"t"`, `"`+thread+`"`, 1)))
				req.Header.Set("Content-Type", "application/json")
				return client.Do(req)
			}
			// taken sends a run again and again until Holdpoint accepts it. Holdpoint refuses the
			// run at first, because it notices closed connections with a delay.
			taken := func(ctx context.Context, thread string) *http.Response {
				t.Helper()
				for range 500 {
					res, err := post(ctx, thread)
					if err == nil && res.StatusCode == 200 {
						return res
					}
					if err == nil {
						res.Body.Close()
					}
					time.Sleep(5 * time.Millisecond)
				}
				t.Fatalf("%s is not taken", thread)
				return nil
			}
			for n := range 3 {
				ctx, leave := context.WithCancel(t.Context())
				if _, err := io.ReadFull(taken(ctx, fmt.Sprint("t", n)).Body, make([]byte, 8)); err != nil {
					t.Fatal(err)
				}
				leave()
				p.wait(t, "client left: the run goes on")
			}
			res, err := post(t.Context(), "t4")
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(res.Body)
			res.Body.Close()
			if res.StatusCode != 429 || res.Header.Get("Retry-After") == "" || !strings.Contains(string(text), "HOLDPOINT_ADDRESS_CONNECTIONS") {
				t.Errorf("one more: %d %s", res.StatusCode, text)
			}
			end()
			for range 3 {
				p.wait(t, "run ended")
			}
			taken(t.Context(), "t5").Body.Close()
		})
	}
}

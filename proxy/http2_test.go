package proxy

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// An onHTTP2 is a rig in which the backend and Holdpoint itself speak HTTP/2, both with TLS or both
// without it.
type onHTTP2 struct {
	*rig
	client *http.Client
	url    string
}

func newOnHTTP2(t *testing.T, secure bool, serve http.HandlerFunc, change ...func(*Options)) *onHTTP2 {
	t.Helper()
	protocols := func(plain bool) *http.Protocols {
		p := new(http.Protocols)
		p.SetHTTP2(!plain)
		p.SetUnencryptedHTTP2(plain)
		return p
	}
	start := func(h http.Handler) *httptest.Server {
		s := httptest.NewUnstartedServer(h)
		s.Config.Protocols = protocols(!secure)
		s.EnableHTTP2 = secure
		if secure {
			s.StartTLS()
		} else {
			s.Start()
		}
		t.Cleanup(s.Close)
		return s
	}
	backend := start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("the backend is spoken to in %s", r.Proto)
		}
		serve(w, r)
	}))
	up, _ := url.Parse(backend.URL)
	change = append(change, func(o *Options) {
		o.Upstream, o.UpstreamHTTP2 = up, true
		if secure {
			roots := backend.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
			o.UpstreamTLS = func(protocols ...string) *tls.Config {
				return &tls.Config{RootCAs: roots, ServerName: up.Hostname(), NextProtos: protocols}
			}
		}
	})
	g := &onHTTP2{rig: newRig(t, echo, change...)}
	front := start(g.h)
	g.url, g.client = front.URL, front.Client()
	transport := g.client.Transport.(*http.Transport)
	transport.Protocols = protocols(!secure)
	t.Cleanup(func() { g.h.CloseIdleConnections(); transport.CloseIdleConnections() })
	return g
}

// post sends a run and returns its response.
func (g *onHTTP2) post(ctx context.Context, body string) *http.Response {
	g.t.Helper()
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, g.url, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	res, err := g.client.Do(req)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { res.Body.Close() })
	if res.ProtoMajor != 2 {
		g.t.Errorf("the client is spoken to in %s", res.Proto)
	}
	return res
}

// TestHTTP2: if both sides speak HTTP/2, the streams must be the same as with HTTP/1.1.
func TestHTTP2(t *testing.T) {
	for name, secure := range map[string]bool{"TLS": true, "plain": false} {
		t.Run(name, func(t *testing.T) {
			t.Run("a question and its answer", func(t *testing.T) {
				var n atomic.Int32
				g := newOnHTTP2(t, secure, func(w http.ResponseWriter, r *http.Request) { asksOnce(w, r, int(n.Add(1))) })
				text, _ := io.ReadAll(g.post(t.Context(), input("t", "r1", "")).Body)
				wantTypes(t, string(text), "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED+interrupt")
				text, _ = io.ReadAll(g.post(t.Context(), input("t", "r2", resumeWith(yes("n1~id1")))).Body)
				if !strings.Contains(string(text), `"RUN_FINISHED"`) || strings.Contains(string(text), "RUN_ERROR") {
					t.Errorf("%s", text)
				}
			})
			t.Run("frames as they come, silence, and a client that leaves", func(t *testing.T) {
				next, gone := make(chan struct{}), make(chan struct{})
				g := newOnHTTP2(t, secure, func(w http.ResponseWriter, r *http.Request) {
					sendStream(w, streamOf(started))
					w.(http.Flusher).Flush()
					<-next
					sendStream(w, streamOf(hello))
					w.(http.Flusher).Flush()
					<-r.Context().Done()
					close(gone)
					// The write timeout passes between two writes of the backend.
				}, func(o *Options) { o.WriteTimeout = 50 * time.Millisecond })
				ctx, leave := context.WithCancel(t.Context())
				lines := bufio.NewReader(g.post(ctx, input("t", "r", "")).Body)
				if line, err := lines.ReadString('\n'); !strings.Contains(line, "RUN_STARTED") {
					t.Fatalf("%q, %v", line, err)
				}
				lines.ReadString('\n')
				// The write deadline is set on a real connection, so the test must wait in real
				// time.
				time.Sleep(200 * time.Millisecond)
				close(next)
				if line, err := lines.ReadString('\n'); !strings.Contains(line, "TEXT_MESSAGE") {
					t.Fatalf("%q, %v", line, err)
				}
				leave()
				select {
				case <-gone:
				case <-time.After(10 * time.Second):
					t.Error("the backend was not told that the client has left")
				}
			})
			t.Run("a backend that is silent", func(t *testing.T) {
				g := newOnHTTP2(t, secure, func(w http.ResponseWriter, r *http.Request) {
					sendStream(w, streamOf(started))
					w.(http.Flusher).Flush()
					<-r.Context().Done()
				}, func(o *Options) { o.IdleTimeout, o.Heartbeat = 200*time.Millisecond, 20*time.Millisecond })
				text, err := io.ReadAll(g.post(t.Context(), input("t", "r", "")).Body)
				if err != nil || !strings.Contains(string(text), "UPSTREAM_IDLE") || !strings.Contains(string(text), ": holdpoint") {
					t.Errorf("%v\n%s", err, text)
				}
			})
			t.Run("a client that reads nothing", func(t *testing.T) {
				gone := make(chan struct{}, 2)
				g := newOnHTTP2(t, secure, func(w http.ResponseWriter, r *http.Request) {
					defer func() { gone <- struct{}{} }()
					sendStream(w, streamOf(started))
					for r.Context().Err() == nil {
						sendStream(w, streamOf(`{"type":"CUSTOM","name":"x","value":"`+strings.Repeat("x", 64<<10)+`"}`))
					}
				}, func(o *Options) { o.WriteTimeout = 200 * time.Millisecond })
				for _, c := range []string{input("t", "r", ""), `{"no":"run"}`} {
					g.post(t.Context(), c) // the response's body is never read
					select {
					case <-gone:
					case <-time.After(20 * time.Second):
						t.Fatal("the backend writes for nobody")
					}
				}
			})
			t.Run("a burst", func(t *testing.T) {
				long := strings.Repeat(streamOf(`{"type":"CUSTOM","name":"x","value":"`+strings.Repeat("x", 1000)+`"}`), 2000)
				g := newOnHTTP2(t, secure, func(w http.ResponseWriter, r *http.Request) { sendStream(w, streamOf(started)+long+streamOf(finished)) })
				text, err := io.ReadAll(g.post(t.Context(), input("t", "r", "")).Body)
				if err != nil || !strings.Contains(string(text), long) || !strings.Contains(string(text), `"RUN_FINISHED"`) {
					t.Errorf("%v, %d bytes", err, len(text))
				}
			})
		})
	}
}

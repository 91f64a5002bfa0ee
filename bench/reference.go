package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"
)

// serveReference serves one of the proxies with which Holdpoint is compared. README.md describes
// them.
func serveReference(name, upstream string) error {
	to, err := url.Parse("http://" + upstream)
	if err != nil {
		return err
	}
	switch name {
	case "reverseproxy":
		return serve(reverse(to, &httputil.ReverseProxy{}))
	case "reverseproxy-32k":
		return serve(reverse(to, &httputil.ReverseProxy{Transport: newTransport(32 << 10)}))
	case "reverseproxy-128k":
		return serve(reverse(to, &httputil.ReverseProxy{Transport: newTransport(burstBytes), BufferPool: pool{}}))
	case "reverseproxy-least":
		t := newTransport(4 << 10)
		t.WriteBufferSize = 2 << 10
		return serve(reverse(to, &httputil.ReverseProxy{Transport: t, BufferPool: smallPool{}}))
	case "naive":
		return serve(naiveProxy{to})
	case "tcp":
		return serveOn(func(l net.Listener) error { return copyTCP(l, upstream) })
	}
	return fmt.Errorf("no reference proxy %q", name)
}

// burstBytes is how many bytes Holdpoint reads and writes at a time, if they are available.
const burstBytes = 128 << 10

// newTransport returns a transport with a read buffer of the given size for each connection.
func newTransport(buffer int) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.ReadBufferSize = buffer
	return t
}

// A pool makes ReverseProxy copy in pieces of up to 128 KiB, the value of bursts.
type pool struct{}

var copies = sync.Pool{New: func() any { return new([burstBytes]byte) }}

func (pool) Get() []byte  { return copies.Get().(*[burstBytes]byte)[:] }
func (pool) Put(b []byte) { copies.Put((*[burstBytes]byte)(b)) }

// smallPool makes ReverseProxy copy in pieces that are so small that they hardly add to the memory
// of a stream.
type smallPool struct{}

func (smallPool) Get() []byte { return make([]byte, 256) }
func (smallPool) Put([]byte)  {}

// reverse returns a handler as a user writes it with the standard library. It also uses
// EnableFullDuplex. Without it, a few in a hundred fast responses to a POST are cut off
// (golang/go#40747), which makes a measurement void.
func reverse(to *url.URL, p *httputil.ReverseProxy) http.Handler {
	p.Rewrite, p.FlushInterval = func(r *httputil.ProxyRequest) { r.SetURL(to) }, -1
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		p.ServeHTTP(w, r)
	})
}

// A naiveProxy is a proxy that decodes every event, encodes it again and flushes it, as a simple
// proxy does.
type naiveProxy struct{ to *url.URL }

// ServeHTTP implements http.Handler.
func (p naiveProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	at := *r.URL
	at.Scheme, at.Host = p.to.Scheme, p.to.Host
	req, err := http.NewRequestWithContext(r.Context(), r.Method, at.String(), bytes.NewReader(body))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	req.Header = r.Header.Clone()
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer res.Body.Close()
	stream(w)
	flush := http.NewResponseController(w).Flush
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 2*hugeBytes)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok {
			continue
		}
		event, err := reencode(data)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		fmt.Fprintf(w, "data: %s\n\n", event)
		if flush() != nil {
			return
		}
	}
	if lines.Err() != nil {
		// Without the panic, a stream that is cut off would look complete.
		panic(http.ErrAbortHandler)
	}
}

// copyTCP copies bytes without parsing HTTP. No proxy in user space can cost less.
func copyTCP(l net.Listener, upstream string) error {
	for {
		in, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer in.Close()
			out, err := net.DialTimeout("tcp", upstream, 10*time.Second)
			if err != nil {
				return
			}
			defer out.Close()
			go pump(out, in)
			pump(in, out)
		}()
	}
}

// pump copies from src to dst through a buffer. io.Copy would let the kernel copy the bytes, but a
// proxy that reads the bytes cannot do this.
func pump(dst, src net.Conn) {
	p := make([]byte, 32<<10)
	for {
		n, err := src.Read(p)
		if n > 0 {
			if _, err := dst.Write(p[:n]); err != nil {
				return
			}
		}
		if err != nil {
			_ = dst.(*net.TCPConn).CloseWrite() // the connection may already be closed
			return
		}
	}
}

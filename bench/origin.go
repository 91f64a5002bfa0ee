package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
)

// An origin is the backend of the benchmark. It responds to a run with the script that the query
// names. It makes the frames before it sends them, and writes them directly to the connection, so
// that it does not limit a measurement.
type origin struct {
	mux *http.ServeMux

	mu      sync.Mutex
	waiters int           // number of streams that wait at the gate
	gate    chan struct{} // closed to release the streams that wait
	command string        // what the released streams do next: burst or end
}

func newOrigin() *origin {
	o := &origin{mux: http.NewServeMux(), gate: make(chan struct{})}
	o.mux.HandleFunc("POST /run/", o.run)
	o.mux.HandleFunc("POST /paced/", o.sendPaced)
	o.mux.HandleFunc("POST /held/", o.hold)
	o.mux.HandleFunc("POST /gate/{command}", o.open)
	o.mux.HandleFunc("GET /gate", o.count)
	o.mux.HandleFunc("POST /worst/{name}", o.worst)
	return o
}

// ServeHTTP implements http.Handler.
func (o *origin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	o.mux.ServeHTTP(w, r)
}

// orderOf returns the order that the query of a request contains, and its script.
func orderOf(r *http.Request) (order, script, error) {
	q := r.URL.Query()
	number := func(name string) int {
		n, _ := strconv.Atoi(q.Get(name)) // without the parameter, 0 is right
		return n
	}
	ord := order{script: q.Get("script"), cycles: number("cycles"), framesPerChunk: max(number("per"), 1), bursts: max(number("bursts"), 1), thread: q.Get("thread"), run: q.Get("run")}
	s, err := ord.makeScript()
	return ord, s, err
}

// run sends the ordered script as fast as possible.
func (o *origin) run(w http.ResponseWriter, r *http.Request) {
	ord, s, err := orderOf(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if ord.cycles == 0 { // a short script: the connection stays open
		stream(w)
		w.Write(streamBytes(s))
		return
	}
	chunks := s.chunks(ord.framesPerChunk)
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer conn.Close()
	// If the reader has left, a write fails and run returns. The load generator itself notices that
	// the stream is not complete.
	if _, err := buffered.WriteString(chunkedHead); err != nil || buffered.Flush() != nil {
		return
	}
	for _, p := range chunks {
		if !send(conn, p, 0, p.times) {
			return
		}
	}
	_, _ = io.WriteString(conn, "0\r\n\r\n")
}

const chunkedHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"

// send writes the repetitions from up to to of a part. It returns false if the reader has left.
func send(w io.Writer, p part, from, to int) bool {
	for n := from; n < to; n++ {
		p.setNumber(n)
		if _, err := w.Write(p.bytes); err != nil {
			return false
		}
	}
	return true
}

func streamBytes(s script) []byte {
	var all []byte
	for _, p := range s.parts(formSent) {
		for n := range p.times {
			p.setNumber(n)
			all = append(all, p.bytes...)
		}
	}
	return all
}

func stream(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
}

// sendPaced sends frames at a fixed rate. Each frame contains the time at which it is sent.
func (o *origin) sendPaced(w http.ResponseWriter, r *http.Request) {
	ord, s, err := orderOf(r)
	rate, _ := strconv.Atoi(r.URL.Query().Get("rate"))
	if err != nil || rate <= 0 {
		http.Error(w, fmt.Sprintf("rate %d: %v", rate, err), http.StatusBadRequest)
		return
	}
	stream(w)
	control := http.NewResponseController(w)
	parts := s.parts(formSent)
	w.Write(parts[0].bytes)
	control.Flush()
	begin := time.Now()
	for n := range ord.cycles {
		time.Sleep(time.Until(begin.Add(time.Duration(n) * time.Second / time.Duration(rate))))
		w.Write(stampedFrame(time.Now()))
		control.Flush()
	}
	w.Write(parts[2].bytes)
}

// hold sends the head of a script and waits at the gate. At the command burst it sends a part of
// the block, and waits again. At the command end it sends the tail.
func (o *origin) hold(w http.ResponseWriter, r *http.Request) {
	ord, s, err := orderOf(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	stream(w)
	control := http.NewResponseController(w)
	w.Write(s.parts(formSent)[0].bytes)
	control.Flush()
	for n := 0; o.wait(r) == "burst"; n++ {
		// The block is made only at this point, because thousands of streams may wait.
		if !send(w, s.parts(formSent)[1], n*ord.cycles/ord.bursts, (n+1)*ord.cycles/ord.bursts) || control.Flush() != nil {
			return
		}
	}
	w.Write(s.parts(formSent)[2].bytes)
}

func (o *origin) wait(r *http.Request) string {
	o.mu.Lock()
	gate := o.gate
	o.waiters++
	o.mu.Unlock()
	select {
	case <-gate:
	case <-r.Context().Done():
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiters--
	return o.command
}

// open releases all streams that wait at the gate, with the command of the request's path.
func (o *origin) open(w http.ResponseWriter, r *http.Request) {
	command := r.PathValue("command")
	if command != "burst" && command != "end" {
		http.NotFound(w, r)
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.command = command
	close(o.gate)
	o.gate = make(chan struct{})
}

func (o *origin) count(w http.ResponseWriter, _ *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	fmt.Fprintln(w, o.waiters)
}

// serve serves HTTP until standard input ends. Standard input ends when the driver ends, so a part
// never runs longer than the driver.
func serve(h http.Handler) error {
	return serveOn(func(l net.Listener) error {
		return (&http.Server{Handler: h, ReadHeaderTimeout: time.Minute}).Serve(l)
	})
}

func serveOn(accept func(net.Listener) error) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(listening + l.Addr().String())
	failed := make(chan error, 1)
	go func() { failed <- accept(l) }()
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // only the end of the input matters
		close(ended)
	}()
	select {
	case err := <-failed:
		return err
	case <-ended:
		return nil
	}
}

// listening is the beginning of the line that a part prints to report its address.
const listening = "listening "

package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"
)

func at(ns int64) time.Time { return time.Unix(0, ns) }

func stampedAt(t *testing.T, ns int64) string {
	t.Helper()
	return string(stampedFrame(at(ns)))
}

// front starts a target in the process of the test.
func front(t *testing.T, h http.Handler, f form) *target {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return &target{kind: kind{form: f}, name: "under test", address: strings.TrimPrefix(s.URL, "http://")}
}

func testClient(t *testing.T, buffer int) *client {
	t.Helper()
	c := (&bench{}).client(buffer)
	t.Cleanup(c.close)
	return c
}

// TestScriptsArrive: every script must arrive as expected, both directly and through the reference
// proxies.
func TestScriptsArrive(t *testing.T) {
	direct := front(t, newOrigin(), formSent)
	to, err := url.Parse("http://" + direct.address)
	if err != nil {
		t.Fatal(err)
	}
	for name, one := range map[string]*target{
		"direct":       direct,
		"reverseproxy": front(t, reverse(to, &httputil.ReverseProxy{}), formSent),
		"naive":        front(t, naiveProxy{to}, formReencoded),
	} {
		for script := range scripts {
			cycles, times := 3, 2
			switch {
			case script == "short" || strings.HasPrefix(script, "ask"):
				cycles = 0
			case script == "raw" || strings.HasPrefix(script, "huge"):
				// These scripts have megabytes, which are slow with the race detector.
				cycles, times = 1, 1
			}
			if name == "naive" && strings.HasPrefix(script, "huge") {
				continue // the naive proxy is not measured with these scripts
			}
			t.Run(name+"/"+script, func(t *testing.T) {
				c := testClient(t, 64<<10)
				for _, per := range []int{1, 20} {
					frames, err := c.streamConcurrently(t.Context(), one, order{script: script, cycles: cycles, framesPerChunk: per}, times, times)
					s, _ := order{script: script, cycles: cycles}.makeScript()
					if err != nil || frames != times*times*s.frames() {
						t.Errorf("%d in a chunk: %d frames, %v", per, frames, err)
					}
				}
			})
		}
	}
}

func TestFailedStreamIsVoid(t *testing.T) {
	good := order{script: "text", cycles: 2, framesPerChunk: 1}
	// answer returns a proxy that passes the whole stream to change, which writes another stream.
	answer := func(change func(w http.ResponseWriter, whole []byte)) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, s, err := orderOf(r)
			if err != nil {
				t.Error(err)
			}
			io.Copy(io.Discard, r.Body)
			change(w, streamBytes(s))
		})
	}
	for name, c := range map[string]struct {
		change func(w http.ResponseWriter, whole []byte)
		want   string
	}{
		"whole": {func(w http.ResponseWriter, whole []byte) { stream(w); w.Write(whole) }, ""},
		"short": {func(w http.ResponseWriter, whole []byte) { stream(w); w.Write(whole[:len(whole)-300]) }, "the stream ended within frame 1"},
		"cut": {func(w http.ResponseWriter, whole []byte) {
			stream(w)
			w.Write(whole[:20000])
			http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, "EOF"},
		"another status":    {func(w http.ResponseWriter, _ []byte) { http.Error(w, "no", http.StatusBadGateway) }, "502 Bad Gateway"},
		"another type":      {func(w http.ResponseWriter, whole []byte) { w.Write(whole) }, "200 OK, text/plain"},
		"a frame too much":  {func(w http.ResponseWriter, whole []byte) { stream(w); w.Write(append(whole, "data: {}\n\n"...)) }, "after the end"},
		"another character": {func(w http.ResponseWriter, whole []byte) { stream(w); whole[5000] = 'X'; w.Write(whole) }, "frame 2"},
	} {
		t.Run(name, func(t *testing.T) {
			one := front(t, answer(c.change), formSent)
			_, err := testClient(t, 4<<10).streamConcurrently(t.Context(), one, good, 2, 1)
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), "void: under test, run-") || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%v, want void with %q", err, c.want)
			}
		})
	}
}

// TestChunksHoldSoManyFrames: the origin writes a script in chunks. No chunk may have more frames
// than were ordered, and all chunks together must be the whole script.
func TestChunksHoldSoManyFrames(t *testing.T) {
	for _, per := range []int{1, 3, 1000} {
		var wire strings.Builder
		s := sample()
		for _, p := range s.chunks(per) {
			send(&wire, p, 0, p.times)
		}
		rest, got := wire.String(), ""
		for rest != "" {
			size, more, _ := strings.Cut(rest, "\r\n")
			var n int
			for _, digit := range size {
				n = n*16 + strings.IndexRune("0123456789abcdef", digit)
			}
			if frames := strings.Count(more[:n], "\n\n"); frames > per || frames == 0 {
				t.Fatalf("a chunk of %d frames, want %d", frames, per)
			}
			got += more[:n]
			rest = more[n+2:]
		}
		if got != whole(s, formSent) {
			t.Errorf("in chunks of %d frames the stream is another", per)
		}
	}
}

func TestHeldStreamComesInBursts(t *testing.T) {
	o := newOrigin()
	direct := front(t, o, formSent)
	b := &bench{ctx: t.Context(), origin: &process{address: direct.address}}
	ord := order{script: "text", cycles: 7, bursts: 3}
	came := make(chan int, 1000)
	ended := make(chan error, 1)
	go func() {
		_, err := testClient(t, 4<<10).stream(t.Context(), direct, ord, "", func(frames int) { came <- frames })
		ended <- err
	}()
	last := 0
	for burst := range 3 {
		if err := b.gate("burst", 1); err != nil {
			t.Fatal(err)
		}
		if err := b.gate("none", 1); err == nil {
			t.Fatal("a command that is none was taken")
		}
		// The client reads the frame some time after the origin wrote it.
		for before := last; last == before; {
			select {
			case last = <-came:
			case <-time.After(time.Minute):
				t.Fatalf("burst %d brought nothing after frame %d", burst+1, before)
			}
		}
	}
	select {
	case err := <-ended:
		t.Fatalf("the stream ended before it was let go: %v", err)
	default:
	}
	if err := b.gate("end", 1); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

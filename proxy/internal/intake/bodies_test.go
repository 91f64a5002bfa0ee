package intake

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
)

// TestReadingABody checks that Holdpoint reads a body completely, or refuses it if it is too long.
// This must hold however the body arrives and whatever length it declares.
func TestReadingABody(t *testing.T) {
	const limit = 300 << 10
	in := &Intake{limit: limit, Room: NewBodyRoom(2*limit, 0)}
	for _, size := range []int{2, 3, 511, 512, 513, 4095, 4096, 4097, 64 << 10, 200 << 10, limit - 1, limit, limit + 1, 2 * limit} {
		whole := []byte(`{` + strings.Repeat(" ", size-2) + `}`)
		for _, declared := range []int{size, -1, 7, 10 * limit} {
			for name, reader := range map[string]func(io.Reader) io.Reader{"at once": func(r io.Reader) io.Reader { return r }, "in halves": iotest.HalfReader, "with its end": iotest.DataErrReader} {
				req := httptest.NewRequest(http.MethodPost, "/", reader(bytes.NewReader(whole)))
				req.ContentLength = int64(declared)
				body, _, err := in.readBody(http.NewResponseController(httptest.NewRecorder()), req, bodyType{})
				if size > limit {
					if err == nil || err.Error() != tooLarge().Error() {
						t.Errorf("%d of %d bytes %s: %v", size, declared, name, err)
					}
				} else if err != nil || !bytes.Equal(body, whole) {
					t.Errorf("%d of %d bytes %s: %d bytes, %v", size, declared, name, len(body), err)
				}
			}
		}
	}
	if in.Room.taken != 0 {
		t.Errorf("%d bytes of room are not given back", in.Room.taken)
	}
	for _, size := range []int{512, maxPeekBytes, 1 << 20} {
		if n := growBy(size, 1<<30); n > max(3*size, eagerBytes) {
			t.Errorf("memory for %d bytes more, when %d have come", n, size)
		}
	}
}

// TestLargeBodiesDoNotStarveEachOther: large bodies arrive at the same time, and some must wait for
// the others. Each body reserves either all of its memory or nothing. So one body can always
// continue, and finally all bodies are read.
func TestLargeBodiesDoNotStarveEachOther(t *testing.T) {
	for name, declared := range map[string]bool{"with a length": true, "in chunks": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const limit, clients = 1 << 20, 6
				// There is memory for two large bodies, but not for three.
				in := &Intake{limit: limit, Room: NewBodyRoom(3<<20, 0)}
				whole := `{"x":"` + strings.Repeat("x", 900<<10) + `"}`
				var done sync.WaitGroup
				for range clients {
					done.Go(func() {
						body, client := io.Pipe()
						go func() {
							_, _ = io.WriteString(client, whole[:len(whole)/2])
							time.Sleep(roomWait / 4)
							_, _ = io.WriteString(client, whole[len(whole)/2:])
							client.Close()
						}()
						req := httptest.NewRequest(http.MethodPost, "/", body)
						req.ContentLength = -1
						if declared {
							req.ContentLength = int64(len(whole))
						}
						read, _, err := in.readBody(http.NewResponseController(httptest.NewRecorder()), req, bodyType{})
						if err != nil || len(read) != len(whole) {
							t.Errorf("%d of %d bytes: %v", len(read), len(whole), err)
						}
						body.Close()
					})
				}
				done.Wait()
				if in.Room.taken != 0 {
					t.Errorf("%d bytes of room are not given back", in.Room.taken)
				}
			})
		})
	}
}

package proxy

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
)

// A slowClient is a ResponseWriter and the body of its request, which ends when the read deadline
// is over.
type slowClient struct {
	*httptest.ResponseRecorder
	io.Reader
	cut   context.CancelCauseFunc
	set   int // deadlines
	reset bool
}

func newSlowClient(ctx context.Context, sends string) *slowClient {
	c := &slowClient{ResponseRecorder: httptest.NewRecorder()}
	ctx, c.cut = context.WithCancelCause(ctx)
	c.Reader = io.MultiReader(strings.NewReader(sends), hanging{ctx})
	return c
}

func (c *slowClient) SetReadDeadline(t time.Time) error {
	c.set++
	if c.reset = t.IsZero(); !c.reset && !t.After(time.Now()) {
		c.cut(os.ErrDeadlineExceeded)
	}
	return nil
}

func TestSlowBodyIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, endsAtOnce)
		begun := time.Now()
		late := map[string]*slowClient{}
		done := make(chan struct{})
		for after, sends := range map[time.Duration]string{0: `{"threadId":`, time.Minute: "", 2 * time.Minute: "  "} {
			c := newSlowClient(t.Context(), sends)
			late[sends] = c
			go func() {
				time.Sleep(after)
				b.h.ServeHTTP(c, httptest.NewRequest(http.MethodPost, "/", c))
				if took := time.Since(begun) - after; took != bodyTimeout {
					t.Errorf("%q was given up after %v", sends, took)
				}
				done <- struct{}{}
			}()
		}
		time.Sleep(3 * time.Minute)
		wantTypes(t, b.post(input("t", "r", "")), "RUN_STARTED RUN_FINISHED") // beside the others
		for range late {
			<-done
		}
		for sends, c := range late {
			if c.Code != http.StatusBadRequest || c.set != 2 || !c.reset {
				t.Errorf("%q: status %d, %d deadlines, reset %v", sends, c.Code, c.set, c.reset)
			}
		}
		quick := newSlowClient(t.Context(), "")
		b.h.ServeHTTP(quick, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(input("t", "r", ""))))
		time.Sleep(2 * bodyTimeout)
		if quick.set > 0 {
			t.Errorf("%d deadlines for a body that was there", quick.set)
		}
	})
}

// TestReadingABody: however it comes and whatever it declares, it is whole, or refused where it is
// too long.
func TestReadingABody(t *testing.T) {
	const limit = 300 << 10
	h := &Handler{opts: Options{MaxRequestBytes: limit}, bodyRoom: &bodyRoom{limit: 2 * limit}}
	for _, size := range []int{2, 3, 511, 512, 513, 4095, 4096, 4097, 64 << 10, 200 << 10, limit - 1, limit, limit + 1, 2 * limit} {
		whole := []byte(`{` + strings.Repeat(" ", size-2) + `}`)
		for _, declared := range []int{size, -1, 7, 10 * limit} {
			for name, reader := range map[string]func(io.Reader) io.Reader{"at once": func(r io.Reader) io.Reader { return r }, "in halves": iotest.HalfReader, "with its end": iotest.DataErrReader} {
				req := httptest.NewRequest(http.MethodPost, "/", reader(bytes.NewReader(whole)))
				req.ContentLength = int64(declared)
				body, _, err := h.readBody(httptest.NewRecorder(), req, bodyType{})
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
	if h.bodyRoom.taken != 0 {
		t.Errorf("%d bytes of room are not given back", h.bodyRoom.taken)
	}
	for _, size := range []int{512, maxPeekBytes, 1 << 20} {
		if n := room(size, 1<<30); n > max(3*size, eagerBytes) {
			t.Errorf("memory for %d bytes more, when %d have come", n, size)
		}
	}
}

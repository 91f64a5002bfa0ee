package proxy

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdpoint/proxy/internal/intake"
)

// A slowClient is a ResponseWriter, and also the body of its request. Reading the body fails when
// the read deadline has passed.
type slowClient struct {
	*httptest.ResponseRecorder
	io.Reader
	cut   context.CancelCauseFunc
	set   int // the number of deadlines set
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
				if took := time.Since(begun) - after; took != intake.BodyTimeout {
					t.Errorf("%q was given up after %v", sends, took)
				}
				done <- struct{}{}
			}()
		}
		time.Sleep(3 * time.Minute)
		// a run of a client that is not slow
		wantTypes(t, b.post(input("t", "r", "")), "RUN_STARTED RUN_FINISHED")
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
		time.Sleep(2 * intake.BodyTimeout)
		if quick.set > 0 {
			t.Errorf("%d deadlines for a body that was there", quick.set)
		}
	})
}

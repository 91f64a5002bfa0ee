package proxy

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdpoint/store"
)

// TestClientThatLeavesALaterRun: a stream contains a resumed run, and after it an ordinary run. If
// the client leaves, the ordinary run must end as any other ordinary run does.
func TestClientThatLeavesALaterRun(t *testing.T) {
	later := streamOf(`{"type":"RUN_STARTED","threadId":"t","runId":"later"}`)
	for name, leaves := range map[string]time.Duration{"before it": 0, "in it": 150 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				told := make(chan time.Time, 1)
				b := newBubble(t, asksFirst(func(ctx context.Context, _ int, w io.Writer) error {
					_, _ = io.WriteString(w, streamOf(started))
					time.Sleep(time.Minute)
					_, _ = io.WriteString(w, streamOf(hello))
					time.Sleep(time.Minute)
					_, _ = io.WriteString(w, streamOf(finished)+later)
					time.Sleep(time.Minute)
					_, _ = io.WriteString(w, streamOf(hello))
					<-ctx.Done()
					told <- time.Now()
					return ctx.Err()
				}))
				b.post(input("t", "r1", ""))
				w, began := &recorder{ResponseRecorder: httptest.NewRecorder()}, time.Now()
				time.AfterFunc(leaves, func() {
					w.mu.Lock()
					defer w.mu.Unlock()
					w.fail = true
				})
				b.h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(input("t", "r2", resumeWith(yes("n1~x"))))))
				if after := (<-told).Sub(began); after > 5*time.Minute {
					t.Errorf("the backend was told after %v", after)
				}
				rec, _ := b.store.Load(t.Context(), recordKey("/", "t"), "")
				if rec.State != store.None || len(rec.Results) != 1 || rec.Results[0].EndKind != store.Finished {
					t.Errorf("record %+v", rec)
				}
			})
		})
	}
}

package proxy

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdpoint/translate/standard"
)

const suspendsC = `{"type":"CUSTOM","name":"on_interrupt","value":"{\"type\":\"mastra_suspend\",\"toolCallId\":\"c\",\"toolName\":\"f\",\"runId\":\"m\"}"}`

// TestStaleResumeIsEnded: if Mastra 1.0.3 does not know the call that an answer names, it sends
// RUN_STARTED and then nothing. Holdpoint must end the client's stream after some time. If a
// backend has sent any other event, it may take longer.
func TestStaleResumeIsEnded(t *testing.T) {
	for name, c := range map[string]struct {
		says string
		took time.Duration
	}{
		"nothing":   {"", 15 * time.Minute},
		"something": {streamOf(`{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","role":"assistant","delta":"x"}`), time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBubble(t, func(ctx context.Context, n int, w io.Writer) error {
					if n == 1 {
						io.WriteString(w, streamOf(started, suspendsC, finished))
						return nil
					}
					io.WriteString(w, streamOf(started)+c.says)
					<-ctx.Done()
					return ctx.Err()
				}, func(o *Options) { o.IdleTimeout, o.Dialect = time.Hour, new(standard.Dialect) })
				b.post(input("t", "m", ""))
				begin := time.Now()
				got := b.post(input("t", "r2", resumeWith(`{"interruptId":"m::c~x","status":"resolved","payload":true}`)))
				if !strings.Contains(got, "UPSTREAM_IDLE") || !strings.Contains(got, "RUN_FINISHED") {
					t.Errorf("told is %s", got)
				}
				if took := time.Since(begin); took != c.took {
					t.Errorf("took %v, want %v", took, c.took)
				}
				// The client must not learn that the action ran, and the answer must not be sent
				// again.
				time.Sleep(detachTimeout + time.Minute)
				if got := b.post(input("t", "r3", "")); !strings.Contains(got, "RESUME_IN_DOUBT") {
					t.Errorf("told is %s", got)
				}
			})
		})
	}
}

package ledger

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestRenewalEndsWithItsRun checks that Stop ends a Renewal: a step that is running is cancelled,
// and no further step follows.
func TestRenewalEndsWithItsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r Renewal
		steps := 0
		r.Start(time.Second, func(ctx context.Context) bool {
			steps++
			if steps == 3 {
				<-ctx.Done() // stopped during the step
			}
			return true
		})
		time.Sleep(3500 * time.Millisecond)
		r.Stop()
		time.Sleep(time.Hour)
		r.Start(time.Second, func(context.Context) bool { steps++; return true })
		time.Sleep(time.Hour)
		if steps != 3 {
			t.Errorf("%d steps", steps)
		}
	})
}

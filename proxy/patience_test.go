package proxy

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent, leave := context.WithCancel(context.WithValue(t.Context(), runKey{}, "value"))
		leave()
		p, end := withPatience(parent, time.Minute)
		defer end()
		goroutines := runtime.NumGoroutine()
		child, stop := context.WithTimeout(p, time.Hour)
		defer stop()
		if runtime.NumGoroutine() != goroutines {
			t.Error("a child of it needs a goroutine")
		}
		if p.Value(runKey{}) != "value" || child.Value(runKey{}) != "value" {
			t.Error("a value is lost")
		}
		time.Sleep(time.Minute - time.Second)
		synctest.Wait()
		if p.Err() != nil || child.Err() != nil {
			t.Error("over too early:", p.Err(), child.Err())
		}
		time.Sleep(time.Second)
		<-p.Done()
		<-child.Done()
		if !errors.Is(p.Err(), context.DeadlineExceeded) || !errors.Is(child.Err(), context.DeadlineExceeded) {
			t.Error(p.Err(), child.Err())
		}
	})
}

func TestPatienceThatNobodyWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, end := withPatience(t.Context(), time.Minute)
		if until, ok := p.Deadline(); p.Err() != nil || p.armed != nil || !ok || time.Until(until) != time.Minute {
			t.Error(p.Err(), p.armed, until, ok)
		}
		time.Sleep(time.Minute)
		if err := p.Err(); !errors.Is(err, context.DeadlineExceeded) {
			t.Error("after its time:", err)
		}
		end()
		if err := p.Err(); !errors.Is(err, context.DeadlineExceeded) {
			t.Error("the reason has changed:", err)
		}

		p, end = withPatience(t.Context(), time.Minute)
		end()
		if err := p.Err(); !errors.Is(err, context.Canceled) {
			t.Error("ended early:", err)
		}
		<-p.Done()
	})
}

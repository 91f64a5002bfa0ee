package proxy

import (
	"context"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdpoint/store/storetest"
)

// leftAlone begins a run at the first of two replicas, and lets its client leave. The backend sends
// the text hello, waits for goOn, and then sends the event "end". Later runs finish at once.
func leftAlone(t *testing.T, goOn <-chan struct{}, end string) (b *bubble, first, second *mortal, gone *sync.WaitGroup) {
	t.Helper()
	var o Options
	b = newBubble(t, func(ctx context.Context, n int, w io.Writer) error {
		if n > 1 {
			_, err := io.WriteString(w, streamOf(started, finished))
			return err
		}
		io.WriteString(w, streamOf(started, hello))
		select {
		case <-goOn:
		case <-ctx.Done():
			return ctx.Err()
		}
		_, err := io.WriteString(w, streamOf(end))
		return err
	}, func(made *Options) { made.OnDisconnect, o = DisconnectFinish, *made })
	o.Store, o.OnDisconnect = b.store, DisconnectFinish
	for _, m := range []**mortal{&first, &second} {
		var err error
		if *m, err = newMortal(o); err != nil {
			t.Fatal(err)
		}
	}
	ctx, leave := context.WithCancel(t.Context())
	gone = &sync.WaitGroup{}
	gone.Go(func() { postTo(ctx, first, input("t", "r1", "")) })
	synctest.Wait()
	leave()
	synctest.Wait()
	return b, first, second, gone
}

const isBusy = "RUN_STARTED RUN_ERROR:THREAD_BUSY"

// TestThreadOfARunWithoutItsClientIsBusyAtAllReplicas: the client of a run has left. Until the run
// ends, the thread must be busy at all replicas, however long this takes. If the run has asked a
// question, any replica must then send it.
func TestThreadOfARunWithoutItsClientIsBusyAtAllReplicas(t *testing.T) {
	for end, told := range map[string]string{asks: "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED+interrupt", finished: "RUN_STARTED RUN_FINISHED"} {
		synctest.Test(t, func(t *testing.T) {
			goOn := make(chan struct{})
			b, first, second, gone := leftAlone(t, goOn, end)
			for range 10 {
				for _, m := range []*mortal{first, second} {
					wantTypes(t, postTo(t.Context(), m, input("t", "r2", "")), isBusy)
				}
				time.Sleep(time.Minute)
			}
			wantTypes(t, postTo(t.Context(), second, input("other", "r3", "")), "RUN_STARTED RUN_FINISHED")
			close(goOn)
			gone.Wait()
			synctest.Wait()
			wantTypes(t, postTo(t.Context(), second, input("t", "r4", "")), told)
			if rec, _ := b.store.Load(t.Context(), recordKey("/", "t"), ""); len(rec.Occupants) > 0 {
				t.Errorf("busy with %v", rec.Occupants)
			}
		})
	}
}

// TestReplicaThatDiesFreesItsThreads: a replica dies during a run. The thread must be free when the
// lease of the replica has lapsed.
func TestReplicaThatDiesFreesItsThreads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, first, second, gone := leftAlone(t, nil, "")
		time.Sleep(time.Minute)
		wantTypes(t, postTo(t.Context(), second, input("t", "r2", "")), isBusy)
		first.kill()
		gone.Wait()
		wantTypes(t, postTo(t.Context(), second, input("t", "r3", "")), isBusy)
		time.Sleep(LeaseTime)
		wantTypes(t, postTo(t.Context(), second, input("t", "r4", "")), "RUN_STARTED RUN_FINISHED")
	})
}

// TestOccupancyThatTheStoreDoesNotTake: some steps that mark a thread as busy fail. A later step
// must repair this. When the run has ended, the thread must be free.
func TestOccupancyThatTheStoreDoesNotTake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		goOn := make(chan struct{})
		b := newBubble(t, func(ctx context.Context, n int, w io.Writer) error {
			io.WriteString(w, streamOf(started))
			<-goOn
			_, err := io.WriteString(w, streamOf(finished))
			return err
		}, func(o *Options) {
			o.OnDisconnect = DisconnectFinish
			lost := 3
			o.Store = &storetest.Faults{Store: o.Store, At: func(step string, do func() error) error {
				if step != "Occupy" || lost == 0 {
					return do()
				}
				if lost--; lost == 0 {
					return do()
				}
				return errDown
			}}
		})
		busy := func() int {
			rec, _ := b.store.Load(t.Context(), recordKey("/", "t"), "")
			return len(rec.Occupants)
		}
		ctx, leave := context.WithCancel(t.Context())
		var gone sync.WaitGroup
		gone.Go(func() { postTo(ctx, b.h, input("t", "r1", "")) })
		synctest.Wait()
		if busy() != 0 {
			t.Error("a run whose client is there occupies its thread")
		}
		leave()
		time.Sleep(2*LeaseTime/3 + time.Second)
		if busy() != 1 {
			t.Errorf("%d runs go on", busy())
		}
		close(goOn)
		gone.Wait()
		synctest.Wait()
		if busy() != 0 {
			t.Errorf("%d runs go on", busy())
		}
	})
}

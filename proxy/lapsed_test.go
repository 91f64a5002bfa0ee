package proxy

import (
	"context"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/store"
	"holdpoint/store/memory"
	"holdpoint/store/storetest"
	"holdpoint/translate"
)

// lapsing returns two replicas with the same store. at gets each step of the first replica. It may
// let time pass before the step, as if the process of this replica was suspended.
func lapsing(t *testing.T, d *fakeDialect, serve func(ctx context.Context, n int, w io.Writer) error, at func(step string, do func() error) error) (b *bubble, first, second *Handler) {
	t.Helper()
	var o Options
	b = newBubble(t, asksFirst(serve), func(made *Options) { made.Dialect, o = d, *made })
	o.Store, o.Dialect = b.store, d
	second, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	o.Store = &storetest.Faults{Store: b.store, At: at}
	if first, err = New(o); err != nil {
		t.Fatal(err)
	}
	return b, first, second
}

const inDoubt = "RUN_STARTED RUN_FINISHED RUN_ERROR:RESUME_IN_DOUBT"

// TestAnswersWhoseClaimLapsedBeforeTheyWereSent: a replica claims a pause and is then suspended.
// When it continues, it may send the answers only if it still has the claim.
func TestAnswersWhoseClaimLapsedBeforeTheyWereSent(t *testing.T) {
	for name, tt := range map[string]struct {
		told, away bool
		want       string
		calls      int // the number of calls of the backend
	}{
		"nobody came meanwhile":                {want: "RUN_STARTED RUN_FINISHED", calls: 2},
		"somebody was told of the doubt":       {told: true, want: inDoubt, calls: 1},
		"the store cannot be asked any more":   {away: true, want: "RUN_STARTED RUN_FINISHED RUN_ERROR:STORE_UNAVAILABLE", calls: 1},
		"a doubt was told, and cannot be seen": {told: true, away: true, want: "RUN_STARTED RUN_FINISHED RUN_ERROR:STORE_UNAVAILABLE", calls: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var second *Handler
				away := false
				b, first, other := lapsing(t, &fakeDialect{}, func(_ context.Context, _ int, w io.Writer) error {
					_, err := io.WriteString(w, streamOf(started, finished))
					return err
				}, func(step string, do func() error) error {
					if away {
						return errDown
					}
					err := do()
					if step != "Claim" {
						return err
					}
					time.Sleep(LeaseTime)
					if tt.told {
						wantTypes(t, postTo(t.Context(), second, input("t", "r3", "")), inDoubt)
					}
					away = tt.away
					return err
				})
				second = other
				postTo(t.Context(), first, input("t", "r1", ""))
				wantTypes(t, postTo(t.Context(), first, input("t", "r2", resumeWith(yes("n1~x")))), tt.want)
				if b.n != tt.calls {
					t.Errorf("%d calls of the backend, want %d", b.n, tt.calls)
				}
			})
		})
	}
}

// TestFurtherAnswersOfALapsedClaim: a dialect sends one answer after another. The first answer
// takes longer than the lease, the claim was not renewed, and another client has got the doubt.
// Then the second answer must not be sent: the thread may have a new question, which the person may
// have denied.
func TestFurtherAnswersOfALapsedClaim(t *testing.T) {
	for name, tt := range map[string]struct {
		told, stale bool
		want        string
		calls       int
	}{
		"nobody came meanwhile":          {want: "RUN_STARTED RUN_FINISHED", calls: 3},
		"somebody was told of the doubt": {told: true, want: inDoubt, calls: 2},
		"the store's clock was set":      {stale: true, want: inDoubt, calls: 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var cutOff atomic.Bool
				d := &fakeDialect{end: func(n int, e translate.End) (translate.Result, error) {
					if n == 1 && e.Event.Type == agui.RunFinished && !e.Event.Get("outcome").Exists() {
						return translate.Result{Next: &translate.Exchange{Out: translate.Out{Resumes: true, Path: "/second"}}}, nil
					}
					return translate.Result{}, nil
				}}
				var second *Handler
				b, first, other := lapsing(t, d, func(_ context.Context, n int, w io.Writer) error {
					if n == 2 {
						away := LeaseTime + time.Second
						if tt.stale {
							away = LeaseTime / 2
						}
						cutOff.Store(!tt.stale)
						time.Sleep(away)
						if tt.told {
							wantTypes(t, postTo(t.Context(), second, input("t", "r3", "")), inDoubt)
						}
						cutOff.Store(false)
					}
					_, err := io.WriteString(w, streamOf(started, finished))
					return err
				}, func(step string, do func() error) error {
					switch {
					case tt.stale && step == "Renew":
						// the lease lapsed too early, and a client was told of the doubt
						return store.ErrStale
					case cutOff.Load():
						return errDown
					}
					return do()
				})
				second = other
				postTo(t.Context(), first, input("t", "r1", ""))
				wantTypes(t, postTo(t.Context(), first, input("t", "r2", resumeWith(yes("n1~x")))), tt.want)
				if b.n != tt.calls {
					t.Errorf("%d calls of the backend, want %d", b.n, tt.calls)
				}
			})
		})
	}
}

// TestRenewalWithoutAReply: a store fails over, and meanwhile its steps get no reply. A claim must
// survive this as long as its lease lasts. So Holdpoint must repeat a failed renewal at once.
func TestRenewalWithoutAReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var away atomic.Bool
		b, first, second := twoReplicas(t, func(context.Context) { time.Sleep(2 * time.Minute) })
		var o = first.opts
		o.Store = unheard{b.store, &away, &sync.Once{}}
		cutOff, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		postTo(t.Context(), cutOff, input("t", "r1", ""))
		var all sync.WaitGroup
		all.Go(func() {
			wantTypes(t, postTo(t.Context(), cutOff, input("t", "r2", resumeWith(yes("n1~x")))), "RUN_STARTED TEXT_MESSAGE_CHUNK RUN_FINISHED")
		})
		time.Sleep(time.Second)
		all.Go(func() { // it reads the record every second
			wantTypes(t, postTo(t.Context(), second, input("t", "r3", resumeWith(yes("n1~x")))), "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED")
		})
		time.Sleep(LeaseTime / 3)
		away.Store(true)
		time.Sleep(LeaseTime / 3)
		away.Store(false)
		all.Wait()
		if b.n != 2 {
			t.Errorf("%d calls", b.n)
		}
	})
}

// An unheard is a store. While it is away, it gives no reply to Renew and Occupy. It also delays
// each Claim and the first Occupy.
type unheard struct {
	store.Store
	away  *atomic.Bool
	first *sync.Once
}

func (h unheard) Do(ctx context.Context, key store.Key, step store.Step) (store.StepResult, error) {
	switch step.(type) {
	case store.Claim:
		defer time.Sleep(2 * time.Second)
	case store.Renew, store.Occupy:
		if h.away.Load() {
			<-ctx.Done()
			return store.StepResult{}, ctx.Err()
		}
		if store.NameOf(step) == "occupy" {
			defer h.first.Do(func() { time.Sleep(2 * time.Second) })
		}
	}
	return h.Store.Do(ctx, key, step)
}

// TestClaimReleasedWhileItsDoubtIsTold: a replica is suspended with a claim whose lease lapses.
// Another request sees the doubt, and is about to close the pause. At that moment the replica
// continues and releases its claim, because it has sent nothing. The question still waits then. It
// must not be closed: its answer must reach the backend.
func TestClaimReleasedWhileItsDoubtIsTold(t *testing.T) {
	var ahead atomic.Int64 // how far the store's clock is ahead of testNow
	records := memory.New(memory.Options{Entries: 10, ReplayTTL: time.Hour, PauseRetention: time.Hour, Now: func() time.Time { return testNow.Add(time.Duration(ahead.Load())) }})
	key, faults := recordKey("/", "t"), &storetest.Faults{Store: records}
	g := newRig(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		sendStream(w, streamOf([][]string{{started, asks}, {started, finished}}[n-1]...))
	}, func(o *Options) { o.Store = faults })
	g.do(input("t", "r1", ""))
	do := func(step store.Step) {
		t.Helper()
		if _, err := records.Do(t.Context(), key, step); err != nil {
			t.Fatal(err)
		}
	}
	rec, err := records.Load(t.Context(), key, "")
	if err != nil {
		t.Fatal(err)
	}
	do(store.Claim{PauseID: rec.Pause.ID, Token: "suspended", Digest: "d", Lease: time.Second})
	ahead.Store(int64(time.Second))
	closes := 0
	faults.At = func(step string, proceed func() error) error {
		if step == "Close" {
			if closes++; closes == 1 {
				do(store.Release{Token: "suspended"})
			}
		}
		return proceed()
	}
	wantTypes(t, g.do(input("t", "r2", "")), "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED+interrupt")
	wantTypes(t, g.do(input("t", "r3", resumeWith(yes(rec.Pause.Interrupts[0].ID)))), "RUN_STARTED RUN_FINISHED")
	if closes != 1 || g.called() != 2 {
		t.Errorf("%d closes, %d calls of the backend", closes, g.called())
	}
}

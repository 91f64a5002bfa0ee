package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"holdpoint/store"
)

const (
	workers = 4
	// sendTimeout bounds one try. Whoever takes a thread's notices has it for longer than that.
	sendTimeout = 10 * time.Second
	hold        = sendTimeout + 5*time.Second
	stepTimeout = 5 * time.Second
	// pollEvery is how often the list of what is due is read. What this process has written itself is
	// sent at once.
	pollEvery = 5 * time.Second
	// The waits of one thread after its tries, and of all together while the receiver takes nothing.
	firstWait, longestWait = time.Second, 5 * time.Minute
	longestRest            = time.Minute
	longestRetryAfter      = time.Hour
	queued                 = 1024

	// stopTimeout is for what is being sent when the process ends, and EndTime is how long a Sender
	// takes to end at most, with the step that says so.
	stopTimeout = 500 * time.Millisecond
	EndTime     = 750 * time.Millisecond
)

// What becomes of a try.
const (
	ResultSent    = "sent"
	ResultFailed  = "failed"  // it is tried again
	ResultRefused = "refused" // the receiver will never take it
	ResultLost    = "lost"    // it was given up: see store.MaxNotices
)

// Results returns all of them.
func Results() []string { return []string{ResultSent, ResultFailed, ResultRefused, ResultLost} }

// Options of a Sender. URL is required.
type Options struct {
	URL      *url.URL
	Secrets  []string  // whsec_..., the newest first; none: nothing is signed
	Template *Template // nil: the default body
	Private  bool      // the receiver may have a private address
	Logger   *slog.Logger
	// Tried is told of each try, and how long its event has waited. nil: nobody is.
	Tried func(result string, waited time.Duration)
	// Poll is how often the list is read; 0: 5s.
	Poll time.Duration
}

// A Sender sends what stands in records.
type Sender struct {
	opts   Options
	to     atomic.Pointer[receiver]
	client *http.Client
	keys   chan store.Key
	fails  atomic.Int32 // in a row

	// These are of the poll alone: how far the store's clock is ahead, and when it was asked.
	ahead time.Duration
	asked time.Time
}

// New makes a Sender. Run starts it.
func New(o Options) (*Sender, error) {
	s := &Sender{opts: o, client: newClient(o.Private), keys: make(chan store.Key, queued)}
	if o.Logger == nil {
		s.opts.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Tried == nil {
		s.opts.Tried = func(string, time.Duration) {}
	}
	if o.Poll == 0 {
		s.opts.Poll = pollEvery
	}
	return s, s.Set(o.URL, o.Secrets, o.Template)
}

// A receiver is where notices go, and what they are there.
type receiver struct {
	url      *url.URL
	signers  []*standardwebhooks.Webhook
	template *Template
}

// Set has what is sent from now on go to the address, signed by the secrets and made by the
// template, as in Options.
func (s *Sender) Set(to *url.URL, secrets []string, template *Template) error {
	next := &receiver{url: to, template: template}
	for _, secret := range secrets {
		w, err := standardwebhooks.NewWebhook(secret)
		if err != nil || !strings.HasPrefix(secret, "whsec_") || len(secret) < len("whsec_")+32 {
			return errors.New("want whsec_ and at least 24 bytes in base64 behind it")
		}
		next.signers = append(next.signers, w)
	}
	s.to.Store(next)
	return nil
}

// Wake says that the thread has something to send. It never waits: what it forgets is found by the
// next look at the list.
func (s *Sender) Wake(key store.Key) {
	select {
	case s.keys <- key:
	default:
	}
}

// Run sends until stop is closed, and returns within EndTime after that.
func (s *Sender) Run(kept store.Store, stop <-chan struct{}) {
	steps, cancelSteps := context.WithCancel(context.Background())
	defer cancelSteps()
	ctx, cancel := context.WithCancel(steps)
	defer cancel()
	var all sync.WaitGroup
	for range workers {
		all.Go(func() { s.work(ctx, steps, kept, stop) })
	}
	all.Go(func() { s.poll(ctx, kept, stop) })
	<-stop
	defer time.AfterFunc(stopTimeout, cancel).Stop()
	defer time.AfterFunc(EndTime, cancelSteps).Stop()
	all.Wait()
	s.client.CloseIdleConnections()
}

// poll puts what is due into the queue.
func (s *Sender) poll(ctx context.Context, kept store.Store, stop <-chan struct{}) {
	for {
		s.look(ctx, kept)
		t := time.NewTimer(s.opts.Poll/2 + rand.N(s.opts.Poll))
		select {
		case <-t.C:
		case <-stop:
			t.Stop()
			return
		}
	}
}

// look reads the list once, with what will be due before the next look. A part of it is enough
// while the receiver takes nothing.
func (s *Sender) look(ctx context.Context, kept store.Store) {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	now := s.storeTime(ctx, kept)
	page, err := kept.List(ctx, store.Query{Unsent: true, Due: now.Add(2 * s.opts.Poll), Limit: queued / 2})
	if err != nil {
		s.opts.Logger.Debug("the list of what is to be sent cannot be read", "err", err)
		return
	}
	for _, row := range page.Rows {
		s.wakeIn(row.Key, row.Due.Sub(now))
	}
}

// clockEvery is how often the store is asked for its time.
const clockEvery = time.Minute

// noThread is the key of no thread. A load of it tells the store's time.
const noThread store.Key = "0000000000000000000000000000000000000000000000000000000000000000"

// storeTime returns the time by the store's clock, as well as it is known. What is due is so by
// that.
func (s *Sender) storeTime(ctx context.Context, kept store.Store) time.Time {
	now := time.Now()
	if s.asked.IsZero() || now.Sub(s.asked) >= clockEvery {
		if rec, err := kept.Load(ctx, noThread, ""); err == nil {
			s.asked, s.ahead = now, rec.Now.Sub(now)
		}
	}
	return now.Add(s.ahead)
}

// wakeIn is Wake in a while.
func (s *Sender) wakeIn(key store.Key, wait time.Duration) {
	if wait <= 0 {
		s.Wake(key)
		return
	}
	time.AfterFunc(wait, func() { s.Wake(key) })
}

// work sends the notices of one thread after the other. Once stop is closed it sends what is
// queued, and rests no more.
func (s *Sender) work(ctx, steps context.Context, kept store.Store, stop <-chan struct{}) {
	for s.rest(stop) {
		select {
		case key := <-s.keys:
			s.thread(ctx, steps, kept, key)
		case <-stop:
		}
	}
	for s.fails.Load() == 0 && ctx.Err() == nil {
		select {
		case key := <-s.keys:
			s.thread(ctx, steps, kept, key)
		default:
			return
		}
	}
}

// rest waits while the receiver takes nothing. It returns false if stop is closed.
func (s *Sender) rest(stop <-chan struct{}) bool {
	wait := time.Duration(0)
	if n := s.fails.Load(); n > 0 {
		wait = backoff(int(n)-1, firstWait/2, longestRest)
	}
	select {
	case <-stop:
		return false
	default:
	}
	if wait == 0 {
		return true
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-stop:
		return false
	}
}

// backoff returns a wait that doubles with each try, less up to a half of it by chance.
func backoff(tries int, first, longest time.Duration) time.Duration {
	wait := min(first<<min(tries, 20), longest)
	return wait/2 + rand.N(wait/2+1)
}

// thread sends what one thread has to send, in order. steps outlasts ctx by a moment, so that what
// was sent is struck off also when the process ends.
func (s *Sender) thread(ctx, steps context.Context, kept store.Store, key store.Key) {
	for ctx.Err() == nil {
		step, cancel := context.WithTimeout(ctx, stepTimeout)
		taken, err := kept.Do(step, key, store.Take{Hold: hold})
		cancel()
		if err != nil {
			s.opts.Logger.Debug("what is to be sent cannot be taken", "err", err)
			return
		}
		if len(taken.Notices) == 0 {
			return
		}
		for n, notice := range taken.Notices {
			waited := max(0, taken.Now.Sub(notice.At))
			result, retryAfter, err := s.send(ctx, notice)
			s.opts.Tried(result, waited)
			sent, wait, failed := []string{notice.ID}, hold, false
			switch {
			case result == ResultFailed:
				sent, failed = nil, true
				wait = max(backoff(taken.Tries, firstWait, longestWait), retryAfter)
				if ctx.Err() != nil {
					wait, failed = 0, false // the process ends: whoever comes next sends it
				}
			case n == len(taken.Notices)-1:
				wait = 0
			}
			s.log(result, notice.ID, taken.Tries, waited, wait, err)
			step, cancel := context.WithTimeout(steps, stepTimeout)
			_, err = kept.Do(step, key, store.Sent{IDs: sent, Wait: wait, Failed: failed})
			cancel()
			if err != nil {
				s.opts.Logger.Warn("what was sent cannot be struck off, and is sent again", "id", notice.ID, "err", err)
				return
			}
			if failed {
				s.fails.Add(1)
			} else if result != ResultFailed {
				s.fails.Store(0)
			}
			if result == ResultFailed {
				if failed && wait < s.opts.Poll { // else the list has it
					s.wakeIn(key, wait)
				}
				return
			}
			taken.Tries = 0
		}
	}
}

func (s *Sender) log(result, id string, tries int, waited, wait time.Duration, err error) {
	switch {
	case result == ResultSent:
		s.opts.Logger.Debug("webhook sent", "id", id, "waited", waited.String())
	case result == ResultRefused:
		s.opts.Logger.Error("webhook refused: it is not sent again", "id", id, "err", err)
	default:
		s.opts.Logger.Warn("webhook not taken", "id", id, "tries", tries+1, "again", wait.Round(time.Millisecond).String(), "err", err)
	}
}

// bodyOf returns what is sent.
func (s *Sender) bodyOf(n store.Notice, template *Template) []byte {
	if template == nil {
		return n.Body
	}
	var b Body
	err := json.Unmarshal(n.Body, &b)
	if err == nil {
		var body []byte
		if body, err = template.body(n.ID, &b); err == nil {
			return body
		}
	}
	s.opts.Logger.Error("the webhook's template fails, and the default body is sent", "id", n.ID, "err", err)
	return n.Body
}

// send tries once. The error says why a notice was not taken. retryAfter is the receiver's wish.
func (s *Sender) send(ctx context.Context, n store.Notice) (result string, retryAfter time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	to := s.to.Load()
	body := s.bodyOf(n, to.template)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.url.String(), bytes.NewReader(body))
	if err != nil {
		return ResultFailed, 0, withoutAddress(err)
	}
	now := time.Now()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "holdpoint")
	req.Header.Set(standardwebhooks.HeaderWebhookID, n.ID)
	req.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	var signatures []string
	for _, w := range to.signers {
		signature, err := w.Sign(n.ID, now, body)
		if err != nil {
			return ResultFailed, 0, err
		}
		signatures = append(signatures, signature)
	}
	if signatures != nil {
		req.Header.Set(standardwebhooks.HeaderWebhookSignature, strings.Join(signatures, " "))
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return ResultFailed, 0, withoutAddress(err)
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 4<<10) // so that the connection can be used again
	switch code := resp.StatusCode; {
	case code/100 == 2:
		return ResultSent, 0, nil
	case final(code):
		return ResultRefused, 0, fmt.Errorf("status %d", code)
	default:
		return ResultFailed, waitOf(resp.Header.Get("Retry-After"), now), fmt.Errorf("status %d", code)
	}
}

// final says of a status that the same body will never be taken. Others, such as 401 and 404, are
// what an operator puts right, and what waits arrives then.
func final(code int) bool {
	switch code {
	case http.StatusBadRequest, http.StatusGone, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// waitOf reads a Retry-After.
func waitOf(text string, now time.Time) time.Duration {
	wait := time.Duration(0)
	if seconds, err := strconv.Atoi(text); err == nil {
		wait = time.Duration(min(max(seconds, 0), 1<<20)) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), longestRetryAfter)
}

// withoutAddress returns an error of the client without the receiver's address, which may be a
// secret.
func withoutAddress(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

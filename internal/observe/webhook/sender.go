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
	// sendTimeout bounds one attempt to send. reserveTime is how long a sender reserves the notices of
	// a thread. It is longer, so that no other sender sends these notices during the attempt.
	sendTimeout = 10 * time.Second
	reserveTime = sendTimeout + 5*time.Second
	stepTimeout = 5 * time.Second
	// pollEvery is the interval at which the sender reads the list of due notices from the store.
	// Notices that this process itself has written are sent at once, without the list.
	pollEvery = 5 * time.Second
	// firstWait and longestWait are the shortest and the longest wait of one thread after a failed
	// attempt. longestRest is the longest wait of all threads while the receiver fails.
	firstWait, longestWait = time.Second, 5 * time.Minute
	longestRest            = time.Minute
	longestRetryAfter      = time.Hour
	queued                 = 1024

	// stopTimeout is how long attempts may continue when the process ends. StopTimeout is the longest
	// time that Run takes to return after stop is closed. It includes the last step of the store.
	stopTimeout = 500 * time.Millisecond
	StopTimeout = 750 * time.Millisecond
)

// These are the results of an attempt to send.
const (
	ResultSent    = "sent"
	ResultFailed  = "failed"  // the attempt is repeated later
	ResultRefused = "refused" // the receiver refuses this event and will never accept it
	ResultLost    = "lost"    // the event will not be sent, see store.MaxNotices
)

// Options configure a Sender. URL is required.
type Options struct {
	URL      *url.URL
	Secrets  []string  // whsec_..., the newest first; without secrets, events are not signed
	Template *Template // nil: the default body
	Private  bool      // the receiver may have a private address
	Logger   *slog.Logger
	// OnTry is called after each attempt. result is the result of the attempt, and waited is how
	// long the event has waited. Tried may be nil.
	OnTry func(result string, waited time.Duration)
	// PollInterval is the interval at which the list of due notices is read. 0 means 5s.
	PollInterval time.Duration
}

// A Sender sends the notices that are in the records of a store.
type Sender struct {
	opts     Options
	receiver atomic.Pointer[receiver]
	client   *http.Client
	keys     chan store.Key
	failures atomic.Int32 // how many attempts have failed in a row
	clock    store.Clock  // only poll uses it
}

// New creates a Sender. Call Run to start it.
func New(o Options) (*Sender, error) {
	s := &Sender{opts: o, client: newClient(o.Private), keys: make(chan store.Key, queued)}
	if o.Logger == nil {
		s.opts.Logger = slog.New(slog.DiscardHandler)
	}
	if o.OnTry == nil {
		s.opts.OnTry = func(string, time.Duration) {}
	}
	if o.PollInterval == 0 {
		s.opts.PollInterval = pollEvery
	}
	return s, s.Set(o.URL, o.Secrets, o.Template)
}

// A receiver contains the address of the webhook's receiver, and the signers and the template for
// its requests.
type receiver struct {
	url      *url.URL
	signers  []*standardwebhooks.Webhook
	template *Template
}

// Set changes the address, the secrets and the template for later attempts. The parameters are the
// same as in Options.
func (s *Sender) Set(to *url.URL, secrets []string, template *Template) error {
	next := &receiver{url: to, template: template}
	for _, secret := range secrets {
		w, err := standardwebhooks.NewWebhook(secret)
		if err != nil || !strings.HasPrefix(secret, "whsec_") || len(secret) < len("whsec_")+32 {
			return errors.New(textSecretForm)
		}
		next.signers = append(next.signers, w)
	}
	s.receiver.Store(next)
	return nil
}

// Wake tells the Sender that the thread has notices to send. It never blocks. If the queue is full,
// the next poll finds the thread.
func (s *Sender) Wake(key store.Key) {
	select {
	case s.keys <- key:
	default:
	}
}

// Run sends notices until stop is closed. It returns within StopTimeout after that.
func (s *Sender) Run(threadStore store.Store, stop <-chan struct{}) {
	steps, cancelSteps := context.WithCancel(context.Background())
	defer cancelSteps()
	ctx, cancel := context.WithCancel(steps)
	defer cancel()
	var all sync.WaitGroup
	for range workers {
		all.Go(func() { s.work(ctx, steps, threadStore, stop) })
	}
	all.Go(func() { s.poll(ctx, threadStore, stop) })
	<-stop
	defer time.AfterFunc(stopTimeout, cancel).Stop()
	defer time.AfterFunc(StopTimeout, cancelSteps).Stop()
	all.Wait()
	s.client.CloseIdleConnections()
}

// poll reads the list of due notices at intervals, and adds their threads to the queue.
func (s *Sender) poll(ctx context.Context, threadStore store.Store, stop <-chan struct{}) {
	for {
		s.readDue(ctx, threadStore)
		t := time.NewTimer(s.opts.PollInterval/2 + rand.N(s.opts.PollInterval))
		select {
		case <-t.C:
		case <-stop:
			t.Stop()
			return
		}
	}
}

// readDue reads the list of due notices once. It includes notices that will be due before the next
// look. It reads only a part of a long list, which is enough while the receiver fails.
func (s *Sender) readDue(ctx context.Context, threadStore store.Store) {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	now := s.clock.Time(ctx, threadStore, time.Now())
	page, err := threadStore.List(ctx, store.Query{WithNotices: true, Due: now.Add(2 * s.opts.PollInterval), Limit: queued / 2})
	if err != nil {
		s.opts.Logger.Debug("the list of what is to be sent cannot be read", "err", err)
		return
	}
	for _, row := range page.Rows {
		s.wakeIn(row.Key, row.Due.Sub(now))
	}
}

// wakeIn calls Wake after wait has passed.
func (s *Sender) wakeIn(key store.Key, wait time.Duration) {
	if wait <= 0 {
		s.Wake(key)
		return
	}
	time.AfterFunc(wait, func() { s.Wake(key) })
}

// work sends the notices of the threads in the queue. When stop is closed, work sends the notices
// of the threads that are in the queue, does not wait for more, and returns.
func (s *Sender) work(ctx, steps context.Context, threadStore store.Store, stop <-chan struct{}) {
	for s.pauseAfterFailures(stop) {
		select {
		case key := <-s.keys:
			s.sendThread(ctx, steps, threadStore, key)
		case <-stop:
		}
	}
	for s.failures.Load() == 0 && ctx.Err() == nil {
		select {
		case key := <-s.keys:
			s.sendThread(ctx, steps, threadStore, key)
		default:
			return
		}
	}
}

// pauseAfterFailures waits for a moment if the last attempts have failed. It returns false if stop
// is closed.
func (s *Sender) pauseAfterFailures(stop <-chan struct{}) bool {
	wait := time.Duration(0)
	if n := s.failures.Load(); n > 0 {
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

// backoff returns how long to wait before the next try. The time begins with first, doubles with
// each try up to longest, and is then reduced by a random part of at most one half.
func backoff(tries int, first, longest time.Duration) time.Duration {
	wait := min(first<<min(tries, 20), longest)
	return wait/2 + rand.N(wait/2+1)
}

// sendThread sends the notices of one thread, in order. ctx bounds the attempts, and steps bounds
// the steps of the store. steps ends a moment after ctx. So a notice that was sent is removed from
// the record even if the process ends.
func (s *Sender) sendThread(ctx, steps context.Context, threadStore store.Store, key store.Key) {
	for ctx.Err() == nil {
		step, cancel := context.WithTimeout(ctx, stepTimeout)
		taken, err := threadStore.Do(step, key, store.Take{Hold: reserveTime})
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
			s.opts.OnTry(result, waited)
			sent, wait, failed := []string{notice.ID}, reserveTime, false
			switch {
			case result == ResultFailed:
				sent, failed = nil, true
				wait = max(backoff(taken.Tries, firstWait, longestWait), retryAfter)
				if ctx.Err() != nil {
					// this process ends, so another process sends the notice
					wait, failed = 0, false
				}
			case n == len(taken.Notices)-1:
				wait = 0
			}
			s.logResult(result, notice.ID, taken.Tries, waited, wait, err)
			step, cancel := context.WithTimeout(steps, stepTimeout)
			_, err = threadStore.Do(step, key, store.Sent{IDs: sent, Wait: wait, Failed: failed})
			cancel()
			if err != nil {
				s.opts.Logger.Warn(logNotRecorded, "id", notice.ID, "err", err)
				return
			}
			if failed {
				s.failures.Add(1)
			} else if result != ResultFailed {
				s.failures.Store(0)
			}
			if result == ResultFailed {
				if failed && wait < s.opts.PollInterval { // after a longer wait, poll finds the thread
					s.wakeIn(key, wait)
				}
				return
			}
			taken.Tries = 0
		}
	}
}

func (s *Sender) logResult(result, id string, tries int, waited, wait time.Duration, err error) {
	switch {
	case result == ResultSent:
		s.opts.Logger.Debug("webhook sent", "id", id, "waited", waited.String())
	case result == ResultRefused:
		s.opts.Logger.Error(logRefused, "id", id, "err", err)
	default:
		s.opts.Logger.Warn(logNotTaken, "id", id, "tries", tries+1, "again", wait.Round(time.Millisecond).String(), "err", err)
	}
}

// bodyOf returns the body of the request for the notice. If there is no template, or the template
// fails, this is the default body.
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
	s.opts.Logger.Error(logTemplateFails, "id", n.ID, "err", err)
	return n.Body
}

// send makes one attempt to send the notice. If the receiver did not accept it, err is the reason.
// retryAfter is the wait that the receiver has asked for.
func (s *Sender) send(ctx context.Context, n store.Notice) (result string, retryAfter time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	to := s.receiver.Load()
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
	case isFinal(code):
		return ResultRefused, 0, fmt.Errorf("status %d", code)
	default:
		return ResultFailed, retryAfterOf(resp.Header.Get("Retry-After"), now), fmt.Errorf("status %d", code)
	}
}

// isFinal reports whether the status code means that the receiver will never accept this body.
// After other errors, such as 401 and 404, the operator can correct the configuration, so the
// notice is sent again.
func isFinal(code int) bool {
	switch code {
	case http.StatusBadRequest, http.StatusGone, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// retryAfterOf returns how long a Retry-After header asks to wait, or 0.
func retryAfterOf(text string, now time.Time) time.Duration {
	wait := time.Duration(0)
	if seconds, err := strconv.Atoi(text); err == nil {
		wait = time.Duration(min(max(seconds, 0), 1<<20)) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), longestRetryAfter)
}

// withoutAddress removes the receiver's address from an error of net/http, because it may be a
// secret.
func withoutAddress(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

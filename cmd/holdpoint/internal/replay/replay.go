// Package replay implements `holdpoint replay`. It plays the messages of a client and a backend to
// a Holdpoint in its own process. It prints each frame that Holdpoint receives and each frame that
// it sends, and explains why.
//
// The package translates nothing by itself: its caller makes a real Holdpoint. Its backend is a
// transport that returns one frame for each read. So whatever Holdpoint writes before the next read
// is the result of that frame. The package prints payloads, because a stream cannot be debugged
// without them.
package replay

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/event"
	"holdpoint/internal/scenario"
	"holdpoint/store"
)

// A Turn is one request of the client, with the backend's responses.
type Turn struct {
	Request []byte
	Answers []scenario.Response // one for each request that Holdpoint sends to the backend
	Wait    time.Duration       // time that passes before the turn
	Restart bool                // whether Holdpoint is restarted before the turn, with the same store
}

// Options control what Run plays.
type Options struct {
	Out   io.Writer
	Turns []Turn
	// Clock is the time of the first turn. If it is zero, the real time is used.
	Clock time.Time
	// IDs has the random parts of the ids that Holdpoint makes, in the order of their use. When IDs
	// is used up, the random parts are id1, id2 and so on, with the number of the id. So two
	// replays print the same.
	IDs []string
	// Step is called before each frame of the backend, and may block until the frame is wanted. An
	// error of Step ends the replay. Step may be nil.
	Step func() error
	// Store returns a store that uses the clock now.
	Store func(now func() time.Time) store.Store
	// Holdpoint returns the handler to which the turns are played.
	Holdpoint func(Parts) (http.Handler, error)
}

// RequestFor returns a run to which the recorded answer of a backend may belong. The run has one
// message, and the thread id and run id that the answer has.
func RequestFor(answer []byte) []byte {
	run := map[string]any{
		"threadId": "replay", "runId": "replay", "state": map[string]any{}, "context": []any{}, "tools": []any{},
		"messages":       []any{map[string]any{"id": "replay-message", "role": "user", "content": "Hello."}},
		"forwardedProps": map[string]any{}, "protocolVersion": "1.0",
	}
	for _, raw := range pieces(eventStream, scenario.Response{Body: answer}) {
		data := dataOf(raw)
		if agui.PeekType(data) != agui.RunStarted || !agui.ValidJSON(data) {
			continue
		}
		for _, name := range []string{"threadId", "runId"} {
			if id := gjson.GetBytes(data, name).Str; id != "" {
				run[name] = id
			}
		}
		break
	}
	return agui.MustMarshal(run)
}

// Parts has the parts that a replayed Holdpoint uses in place of a real backend, store, clock and
// log.
type Parts struct {
	Backend  http.RoundTripper
	Store    store.Store
	Now      func() time.Time
	NewID    func() string
	Logger   *slog.Logger
	RunEnded func(*event.Run)
	// Claimed is called when Holdpoint has recognized the dialect of a stream.
	Claimed func(dialect string)
}

// Run plays the turns. It returns an error of Out, of Step, or of Options.Holdpoint.
func Run(ctx context.Context, o Options) error {
	p := &player{options: o, now: o.Clock}
	p.store = &recordStore{Store: o.Store(p.time)}
	for n, turn := range o.Turns {
		if n == 0 || turn.Restart {
			if err := p.start(); err != nil {
				return err
			}
		}
		if err := p.turn(ctx, n+1, turn); err != nil {
			return err
		}
	}
	return p.err
}

// A player has the state that is kept between turns.
type player struct {
	options Options
	handler http.Handler
	store   *recordStore
	// current time of the replay, starting at Options.Clock; zero to use the real time
	now           time.Time
	ids           int
	trace         *trace
	pausedDialect string // dialect of the question that was open before the turn, or ""
	err           error  // the first error in writing to Out
}

func (p *player) start() (err error) {
	p.handler, err = p.options.Holdpoint(Parts{
		Backend: backend{p}, Store: p.store, Now: p.time, NewID: p.newID, Logger: slog.New(logHandler{p, ""}),
		RunEnded: func(r *event.Run) { p.trace.noteEnd(r) },
		Claimed:  func(dialect string) { p.trace.note(traceDialect, dialect) },
	})
	return err
}

func (p *player) time() time.Time {
	if p.now.IsZero() {
		return time.Now()
	}
	return p.now
}

func (p *player) newID() string {
	p.ids++
	if p.ids <= len(p.options.IDs) {
		return p.options.IDs[p.ids-1]
	}
	return fmt.Sprintf("id%d", p.ids)
}

// maker says who made a request to the backend, for the line that explains the request: Holdpoint,
// or the dialect that asked the open question.
func (p *player) maker() string {
	if p.pausedDialect == "" {
		return "Holdpoint"
	}
	return fmt.Sprintf(traceWhichAsked, p.pausedDialect)
}

func (p *player) print(format string, args ...any) {
	if _, err := fmt.Fprintf(p.options.Out, format+"\n", args...); err != nil && p.err == nil {
		p.err = err
	}
}

// turn plays one turn and prints it.
func (p *player) turn(ctx context.Context, n int, turn Turn) error {
	if !p.now.IsZero() {
		p.now = p.now.Add(turn.Wait)
	}
	if n > 1 {
		p.print("")
	}
	p.print("turn %d", n)
	if turn.Restart {
		p.print(traceStartedAnew)
	}
	if turn.Wait > 0 {
		p.print(tracePassed, turn.Wait)
	}
	p.block(traceClientSends, turn.Request)
	p.trace = &trace{p: p, turn: turn}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://holdpoint/", strings.NewReader(string(turn.Request)))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	w := &client{t: p.trace, header: http.Header{}}
	p.handler.ServeHTTP(w, req)
	p.trace.printEnd(w)
	if p.trace.stepErr != nil {
		return p.trace.stepErr
	}
	return p.record(ctx)
}

// recordStore is a store that remembers the key and the owner of the last Load.
type recordStore struct {
	store.Store
	key   store.Key
	owner string
}

// Load implements store.Store.
func (w *recordStore) Load(ctx context.Context, key store.Key, owner string) (store.Record, error) {
	w.key, w.owner = key, owner
	return w.Store.Load(ctx, key, owner)
}

// logHandler is a slog.Handler that prints log lines between the frames.
type logHandler struct {
	p     *player
	attrs string
}

// Enabled implements slog.Handler. It drops the level INFO. At this level Holdpoint logs one line
// for each run, some time after the run, and the line only repeats what the trace has.
func (logHandler) Enabled(_ context.Context, level slog.Level) bool { return level != slog.LevelInfo }

// Handle implements slog.Handler.
func (l logHandler) Handle(_ context.Context, r slog.Record) error {
	line := "log " + strings.ToLower(r.Level.String()) + ": " + r.Message + l.attrs
	r.Attrs(func(a slog.Attr) bool { line += " " + a.String(); return true })
	if l.p.trace != nil {
		l.p.trace.note("%s", line)
	}
	return nil
}

// WithAttrs implements slog.Handler.
func (l logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	for _, a := range attrs {
		l.attrs += " " + a.String()
	}
	return l
}

// WithGroup implements slog.Handler. Holdpoint uses no groups.
func (l logHandler) WithGroup(string) slog.Handler { return l }

// Package replay is `holdpoint replay`. It plays what a client and a backend sent to a Holdpoint in
// its own process, and prints each frame that came, each frame that went, and why.
//
// It translates nothing by itself. The Holdpoint is a real one, made by its caller. The backend is
// a transport that hands over one frame for each read, so what is written before the next read is
// what Holdpoint made of that frame. It prints payloads on purpose: a stream cannot be debugged
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

// A Turn is one request of the client, and what the backend answers to it.
type Turn struct {
	Request []byte
	Answers []scenario.Response // one for each exchange
	Wait    time.Duration       // that passes before it
	Restart bool                // Holdpoint is started anew before it, with the same store
}

// Options say what is played.
type Options struct {
	Out   io.Writer
	Turns []Turn
	// Clock is the time of the first turn. Zero: the time is the real one.
	Clock time.Time
	// IDs are the random parts of ids. After them follow id1, id2 and so on, by their number, so
	// that two replays print the same.
	IDs []string
	// Step waits before each frame of the backend. nil: nothing waits. An error ends the replay.
	Step func() error
	// Store makes the store, which goes by the clock.
	Store func(now func() time.Time) store.Store
	// Holdpoint makes the Handler that is tested.
	Holdpoint func(Parts) (http.Handler, error)
}

// RequestFor returns a run that an answer may belong to: one message, with the ids that the answer
// names.
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

// Parts are what a replayed Holdpoint gets in place of the world.
type Parts struct {
	Backend  http.RoundTripper
	Store    store.Store
	Now      func() time.Time
	NewID    func() string
	Logger   *slog.Logger
	RunEnded func(*event.Run)
	// Claimed is told of the dialect to which a stream belongs from here on.
	Claimed func(dialect string)
}

// Run plays the turns. The error is one of Out, of Step, or of making Holdpoint.
func Run(ctx context.Context, o Options) error {
	p := &player{o: o, now: o.Clock}
	p.store = &watched{Store: o.Store(p.time)}
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

// A player has what outlives a turn.
type player struct {
	o       Options
	handler http.Handler
	store   *watched
	now     time.Time // of Options.Clock; zero if time is real
	ids     int
	trace   *trace
	asked   string // the dialect of the question that was open before the turn, "" for none
	err     error  // the first error of Out
}

func (p *player) start() (err error) {
	p.handler, err = p.o.Holdpoint(Parts{
		Backend: backend{p}, Store: p.store, Now: p.time, NewID: p.newID, Logger: slog.New(logged{p, ""}),
		RunEnded: func(r *event.Run) { p.trace.ended(r) },
		Claimed:  func(dialect string) { p.trace.note("the stream is that of %s from here on", dialect) },
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
	if p.ids <= len(p.o.IDs) {
		return p.o.IDs[p.ids-1]
	}
	return fmt.Sprintf("id%d", p.ids)
}

// maker says who makes the requests to the backend.
func (p *player) maker() string {
	if p.asked == "" {
		return "Holdpoint"
	}
	return p.asked + ", which asked,"
}

func (p *player) print(format string, args ...any) {
	if _, err := fmt.Fprintf(p.o.Out, format+"\n", args...); err != nil && p.err == nil {
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
		p.print("  (Holdpoint was started anew, with the same store)")
	}
	if turn.Wait > 0 {
		p.print("  (%v have passed)", turn.Wait)
	}
	p.block("client sends", turn.Request)
	p.trace = &trace{p: p, turn: turn}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://holdpoint/", strings.NewReader(string(turn.Request)))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	w := &client{t: p.trace, header: http.Header{}}
	p.handler.ServeHTTP(w, req)
	p.trace.end(w)
	if p.trace.stopped != nil {
		return p.trace.stopped
	}
	return p.record(ctx)
}

// watched remembers the keys of the threads that were asked for.
type watched struct {
	store.Store
	key   store.Key
	owner string
}

// Load implements store.Store.
func (w *watched) Load(ctx context.Context, key store.Key, owner string) (store.Record, error) {
	w.key, w.owner = key, owner
	return w.Store.Load(ctx, key, owner)
}

// logged is a slog.Handler that prints the lines of the log where they are written.
type logged struct {
	p     *player
	attrs string
}

// Enabled implements slog.Handler. The line of each run, at level info, is left out: it is written
// some time after the run, and says what the trace says.
func (logged) Enabled(_ context.Context, level slog.Level) bool { return level != slog.LevelInfo }

// Handle implements slog.Handler.
func (l logged) Handle(_ context.Context, r slog.Record) error {
	line := "log " + strings.ToLower(r.Level.String()) + ": " + r.Message + l.attrs
	r.Attrs(func(a slog.Attr) bool { line += " " + a.String(); return true })
	if l.p.trace != nil {
		l.p.trace.note("%s", line)
	}
	return nil
}

// WithAttrs implements slog.Handler.
func (l logged) WithAttrs(attrs []slog.Attr) slog.Handler {
	for _, a := range attrs {
		l.attrs += " " + a.String()
	}
	return l
}

// WithGroup implements slog.Handler. Nobody here groups.
func (l logged) WithGroup(string) slog.Handler { return l }

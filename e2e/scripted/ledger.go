package scripted

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
)

// A Ledger records what happened on each thread. It does not belong to one server, so a test can
// give it to the next server after a restart.
type Ledger struct {
	mu       sync.Mutex
	executed map[string]map[string]int
	requests map[string][]json.RawMessage
	refused  map[string][]string
}

// NewLedger returns an empty Ledger.
func NewLedger() *Ledger {
	return &Ledger{executed: map[string]map[string]int{}, requests: map[string][]json.RawMessage{}, refused: map[string][]string{}}
}

func (l *Ledger) execute(thread, what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.executed[thread] == nil {
		l.executed[thread] = map[string]int{}
	}
	l.executed[thread][what]++
}

func (l *Ledger) asked(thread string, body []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests[thread] = append(l.requests[thread], body)
}

func (l *Ledger) complain(thread, what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused[thread] = append(l.refused[thread], what)
}

// Executed returns how many times each tool call ran on thread, by the argument of the call.
func (l *Ledger) Executed(thread string) map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.executed[thread])
}

// Total returns how many times each tool call ran on all threads, by the argument of the call.
func (l *Ledger) Total() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	total := map[string]int{}
	for _, executed := range l.executed {
		for what, times := range executed {
			total[what] += times
		}
	}
	return total
}

// Requests returns the bodies of the run requests on thread, in order.
func (l *Ledger) Requests(thread string) []json.RawMessage {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.requests[thread])
}

// Complaints returns the reasons why the backend, or the provider of its model, refused requests of
// thread.
func (l *Ledger) Complaints(thread string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.refused[thread])
}

// A Server is a backend. POST / starts a run, and GET /executed/{thread} returns which actions ran.
type Server struct {
	*Ledger
	mux http.ServeMux
}

// newServer returns a server that calls run for each run, with the unchanged body of the request.
func newServer(l *Ledger, run func(w http.ResponseWriter, body []byte)) *Server {
	s := &Server{Ledger: l}
	s.mux.HandleFunc("GET /executed/{thread}", func(w http.ResponseWriter, req *http.Request) {
		executed := l.Executed(req.PathValue("thread"))
		if executed == nil {
			executed = map[string]int{}
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write(text(executed))
	})
	s.mux.HandleFunc("POST /{$}", func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		var input struct{ ThreadID string }
		if err != nil || json.Unmarshal(body, &input) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		l.asked(input.ThreadID, body)
		run(w, body)
	})
	return s
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, req *http.Request) { s.mux.ServeHTTP(w, req) }

// An exception is an exception that the .NET original would throw.
type exception struct{ kind, message string }

func (e *exception) Error() string { return e.kind + ": " + e.message }

func throw(kind, format string, args ...any) error {
	return &exception{kind, fmt.Sprintf(format, args...)}
}

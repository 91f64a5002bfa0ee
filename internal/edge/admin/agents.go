package admin

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

const (
	// connectTimeout bounds the time that an agent may take to accept a connection. It is shorter
	// than the default timeout of a Kubernetes probe, one second.
	connectTimeout = 900 * time.Millisecond
	// connectInterval is the shortest time between two connections to the same agent. Requests for
	// /agentz that arrive sooner get the last result.
	connectInterval = 500 * time.Millisecond
)

// An Agent is an agent whose connections /agentz checks.
type Agent struct {
	Name     string
	Upstream *url.URL
}

// agents are the agents of the process, with the result of the last check.
type agents struct {
	known chan struct{} // closed after list is set
	list  []Agent

	mu    sync.Mutex // locked during a check
	asked time.Time
	text  string // the text of the last result, a line for each agent
	all   bool   // all agents accepted their connections
}

// Agents sets the agents that /agentz checks. It must be called only once.
func (s *Server) Agents(list []Agent) {
	if s == nil {
		return
	}
	s.agents.list = list
	close(s.agents.known)
}

// agentz reports whether the agents accept connections. An agent with Holdpoint as its sidecar uses
// /agentz as its readiness probe. Holdpoint is ready before its agent, so with /readyz alone the
// pod would get runs too early.
func (s *Server) agentz(w http.ResponseWriter, req *http.Request) {
	select {
	case <-s.agents.known:
	default:
		respond(w, http.StatusServiceUnavailable, textNotStarted)
		return
	}
	all, text := s.agents.connect(req.Context(), s.now)
	if !all {
		respond(w, http.StatusServiceUnavailable, textNotReady+text)
		return
	}
	respond(w, http.StatusOK, "ready\n"+text)
}

// connect opens a connection to each agent and sends nothing over it. If the last result is newer
// than connectInterval, connect returns that result instead. The text does not contain errors,
// because errors may contain addresses, and the admin listener has no login.
func (a *agents) connect(ctx context.Context, now func() time.Time) (all bool, text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.asked.IsZero() && now().Sub(a.asked) < connectInterval {
		return a.all, a.text
	}
	// The check must not end when this request is canceled, because other requests get its result
	// too.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), connectTimeout)
	defer cancel()
	errs := make([]error, len(a.list))
	var each sync.WaitGroup
	for n, agent := range a.list {
		each.Go(func() { errs[n] = connect(ctx, agent.Upstream) })
	}
	each.Wait()
	var lines strings.Builder
	a.all = true
	for n, agent := range a.list {
		state := stateAccepts
		if errs[n] != nil {
			a.all, state = false, stateAcceptsNone
		}
		lines.WriteString(cmp.Or(agent.Name, "agent") + ": " + state + "\n")
	}
	a.text, a.asked = lines.String(), now()
	return a.all, a.text
}

func connect(ctx context.Context, to *url.URL) error {
	port := "80"
	if to.Scheme == "https" {
		port = "443"
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(to.Hostname(), cmp.Or(to.Port(), port)))
	if err != nil {
		return err
	}
	return conn.Close()
}

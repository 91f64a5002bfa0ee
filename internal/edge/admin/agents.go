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
	// connectTimeout is how long an agent may take to accept a connection. A probe of Kubernetes has
	// a second, unless it is given more.
	connectTimeout = 900 * time.Millisecond
	// connectEvery bounds how often agents are connected to, however often somebody asks.
	connectEvery = 500 * time.Millisecond
)

// An Agent is one that /agentz connects to.
type Agent struct {
	Name     string
	Upstream *url.URL
}

// agents are those of this process, and what the last connections to them came to.
type agents struct {
	known chan struct{} // closed when list is set
	list  []Agent

	mu    sync.Mutex // held while connections are made
	asked time.Time
	said  string // a line for each agent
	all   bool   // each of them accepts connections
}

// Agents names the agents that /agentz connects to. It is called at most once.
func (s *Server) Agents(list []Agent) {
	if s == nil {
		return
	}
	s.agents.list = list
	close(s.agents.known)
}

// agentz reports whether the agents accept connections. It is the readiness probe of an agent
// beside its sidecar: Holdpoint is ready before its agent, and must be.
func (s *Server) agentz(w http.ResponseWriter, req *http.Request) {
	select {
	case <-s.agents.known:
	default:
		answer(w, http.StatusServiceUnavailable, "not started\n")
		return
	}
	all, said := s.agents.connect(req.Context(), s.now)
	if !all {
		answer(w, http.StatusServiceUnavailable, "not ready\n"+said)
		return
	}
	answer(w, http.StatusOK, "ready\n"+said)
}

// connect connects to each agent, unless that was done a moment ago. It sends nothing. What a
// connection failed by is not told: it may name addresses, and this listener asks nobody who he is.
func (a *agents) connect(ctx context.Context, now func() time.Time) (all bool, said string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.asked.IsZero() && now().Sub(a.asked) < connectEvery {
		return a.all, a.said
	}
	// Of the process and not of whoever asks, since what comes of it is told to others too.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), connectTimeout)
	defer cancel()
	errs := make([]error, len(a.list))
	var each sync.WaitGroup
	for n, agent := range a.list {
		each.Go(func() { errs[n] = connect(ctx, agent.Upstream) })
	}
	each.Wait()
	var text strings.Builder
	a.all = true
	for n, agent := range a.list {
		says := "accepts connections"
		if errs[n] != nil {
			a.all, says = false, "accepts no connections"
		}
		text.WriteString(cmp.Or(agent.Name, "agent") + ": " + says + "\n")
	}
	a.said, a.asked = text.String(), now()
	return a.all, a.said
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

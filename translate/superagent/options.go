package superagent

import (
	"errors"
	"net/url"
	"path"
	"strings"
	"time"

	"holdpoint/translate/kit"
)

// Options of the dialect, HOLDPOINT_SUPERAGENT_*.
type Options struct {
	// AgentID: the server's default is an agent of its own choice, and a resume without one is
	// refused.
	AgentID string `env:"AGENT_ID" means:"nothing" doc:"the agent that every run is for, as GET /api/v1/agents of the backend lists it. superagent does not start without it"`
	Prefix  string `env:"PREFIX" means:"nothing" envDefault:"/api/v1" doc:"path before /chat/stream and /chat/resume of a superagent server"`
	// Timeout is not on the wire.
	Timeout time.Duration `env:"TIMEOUT" envDefault:"0" doc:"timeout_seconds of the agent. superagent's questions get an expiry by it; 0 gives none"`
}

const prefixDefault = "/api/v1"

// Needs is what must be set.
func (o Options) Needs() string {
	if o.AgentID == "" {
		return "AGENT_ID"
	}
	return ""
}

// Check says what is wrong with the options; an empty prefix is the default.
func (o Options) Check() []error {
	p := o.Prefix
	escapes := (&url.URL{Path: p}).EscapedPath() != p || strings.ContainsAny(p, "?#;")
	if p != "" && (!strings.HasPrefix(p, "/") || path.Clean(p) != p || p == "/" || escapes) {
		return []error{kit.WrongOption("PREFIX", errors.New("want a path such as "+prefixDefault))}
	}
	return nil
}

package superagent

// Options of the dialect, HOLDPOINT_SUPERAGENT_*.
type Options struct {
	// AgentID is needed: without one the server takes an agent of its own choice, and refuses a
	// resume.
	AgentID string `env:"AGENT_ID" means:"nothing" doc:"the agent that every run is for, as GET /api/v1/agents of the backend lists it. superagent does not start without it"`
}

// Needs returns what must be set.
func (o Options) Needs() string {
	if o.AgentID == "" {
		return "AGENT_ID"
	}
	return ""
}

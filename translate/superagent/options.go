package superagent

import "holdpoint/translate/kit"

// Options are the settings of the dialect, HOLDPOINT_SUPERAGENT_*.
type Options struct {
	// AgentID is required. Without it, the server chooses an agent itself, and refuses a resume.
	AgentID string `env:"AGENT_ID" means:"nothing" doc:"agent of every run, as GET /api/v1/agents of the backend lists it. The dialect superagent requires it"`
	// Allow lists additional requests of the server's own API that Holdpoint forwards. Without
	// Allow it forwards only requests that read.
	Allow kit.Requests `env:"ALLOW" means:"nothing" doc:"requests of the server's own API that pass in addition to those that read (docs/superagent.md): a method and a path, separated by commas or lines, such as POST /api/v2/files. * stands for one segment. Everyone who reaches Holdpoint can send them"`
}

// Check returns the errors in the options.
func (o Options) Check() []error {
	return kit.WrongOption("ALLOW", o.Allow.Check(controlsRun))
}

// Needs returns the name of the required option if it is missing, or "".
func (o Options) Needs() string {
	if o.AgentID == "" {
		return "AGENT_ID"
	}
	return ""
}

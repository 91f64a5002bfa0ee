package strands

import (
	"fmt"
	"path"
	"strings"

	"holdpoint/translate/internal/strandsapi"
)

// Options of the dialect, HOLDPOINT_STRANDS_*.
type Options struct {
	Body    Body    `env:"BODY" means:"nothing" envDefault:"{\"prompt\":\"$prompt\"}" doc:"JSON of a request to a Strands server. $prompt stands for the text or the list of answers. $session, $thread, $run, $state, $forwardedProps, $messages, $context and $tools can be used too"`
	Headers Headers `env:"HEADERS" means:"nothing" envDefault:"X-Amzn-Bedrock-AgentCore-Runtime-Session-Id=$session" doc:"headers of such a request: Name=value;Name=value, or none. $session is a hash of the thread's id, 64 characters"`
	Paths   Paths   `env:"PATHS" means:"nothing" doc:"paths of a Strands server that lead to an agent: globs, path;path. / always does. Without it all paths do"`
	// Rules: the documented hook takes a string, and only one. Some projects stream frames of their
	// own for questions, {"type":"interrupt","interrupt_id":..}.
	Rules     strandsapi.Rules `env:"RULES_FILE" means:"answers" doc:"JSON file that says by an interrupt's name how answers are handed to a Strands agent, and which schema and reason a question has. It is read at start (docs/strands.md#rules)"`
	Reasoning bool             `env:"REASONING" envDefault:"false" doc:"show the reasoning of a Strands agent's model"`
	Text      bool             `env:"TEXT" envDefault:"false" doc:"take plain text and bare strings of a Strands server for what the agent says. Only for agents that never ask, because such a server drops their questions"`
}

const (
	bodyDefault    = `{"prompt":"$prompt"}`
	headersDefault = "X-Amzn-Bedrock-AgentCore-Runtime-Session-Id=$session"
)

func (o Options) withDefaults() (Options, error) {
	if o.Body == "" {
		o.Body = bodyDefault
	}
	if o.Headers == nil {
		if err := o.Headers.UnmarshalText([]byte(headersDefault)); err != nil {
			return o, err
		}
	}
	return o, nil
}

// warning is what an operator should know of the options, "" for nothing.
func (o Options) warning() string {
	for _, r := range o.Rules.List {
		if r.Profile != "" && r.Profile != strandsapi.Words {
			return "@strands-agents/sdk 1.19.0 runs the tool when a hook throws, and a hook written for a string throws at any other answer, a no too: " +
				"bool, envelope and raw are right only for hooks and tools that are known to take them"
		}
	}
	return ""
}

// Paths are globs of path.Match, in a variable separated by semicolons.
type Paths []string

// UnmarshalText reads the value of a variable.
func (p *Paths) UnmarshalText(text []byte) error {
	*p = nil
	for one := range strings.SplitSeq(string(text), ";") {
		if one = strings.TrimSpace(one); one == "" {
			continue
		}
		// A request's path is compared in its shortest form: a glob in another would match none,
		// and all of them would pass.
		short := path.Clean(one)
		if _, err := path.Match(one, ""); err != nil || !strings.HasPrefix(one, "/") || short != one && short+"/" != one {
			return fmt.Errorf("%q is no path in its shortest form, want for example /invocations;/agents/*", one)
		}
		*p = append(*p, strings.ToLower(short))
	}
	return nil
}

// String is the list as it is written.
func (p Paths) String() string { return strings.Join(p, ";") }

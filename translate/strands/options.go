package strands

import (
	"cmp"
	"encoding/json"

	"holdpoint/translate/internal/strandsapi"
)

// Options of the dialect, HOLDPOINT_STRANDS_*.
type Options struct {
	Server Server `env:"FILE" means:"answers" doc:"JSON file that describes the Strands server: the body, headers and paths of its requests, what is shown of its stream, and what answers become. It is read at start (docs/strands-reference.md#the-file)"`
}

// A Server is what an operator's file says of a Strands server. Nothing needs to be said.
//
//	{
//	  "body": {"input": {"prompt": "$prompt"}},
//	  "headers": {"X-Session": "$session"},
//	  "paths": ["/invocations", "/agents/*"],
//	  "reasoning": true,
//	  "text": true,
//	  "questions": "gjson path in a frame to its questions",
//	  "interrupts": [{"name": "deploy-*", "answers": "bool"}]
//	}
type Server struct {
	// Body is a request to the server; "" stands for bodyDefault.
	Body Body
	// Headers are those of such a request; nil stands for headersDefault.
	Headers Headers
	// Paths lead to an agent; without one all paths do.
	Paths Paths
	// Reasoning says that the client is shown the reasoning of the agent's model.
	Reasoning bool
	// Text says that plain text and bare strings are what the agent says. It is right only for
	// agents that never ask, because such a server drops their questions.
	Text bool
	// Rules say what answers become: the documented hook takes a string, and only one. Some servers
	// have frames of their own for questions, such as {"type":"interrupt","interrupt_id":..}.
	Rules strandsapi.Rules

	file string
}

const bodyDefault Body = `{"prompt":"$prompt"}`

var headersDefault = Headers{{"X-Amzn-Bedrock-Agentcore-Runtime-Session-Id", "$session"}}

func (s Server) withDefaults() Server {
	s.Body = cmp.Or(s.Body, bodyDefault)
	if s.Headers == nil {
		s.Headers = headersDefault
	}
	return s
}

// UnmarshalText reads the value of a variable: the name of a file.
func (s *Server) UnmarshalText(file []byte) error {
	text, err := strandsapi.ReadFile(string(file))
	if err != nil {
		return err
	}
	read, err := parseServer(text)
	if err != nil {
		return err
	}
	read.file = string(file)
	*s = read
	return nil
}

// parseServer reads the text of a file.
func parseServer(text []byte) (Server, error) {
	var s Server
	var err error
	s.Rules, err = strandsapi.ParseRules(text,
		strandsapi.Member{Name: "body", Read: s.Body.read},
		strandsapi.Member{Name: "headers", Read: s.Headers.read},
		strandsapi.Member{Name: "paths", Read: s.Paths.read},
		strandsapi.Member{Name: "reasoning", Read: readSwitch(&s.Reasoning)},
		strandsapi.Member{Name: "text", Read: readSwitch(&s.Text)},
	)
	return s, err
}

// String returns the file's name, and how many rules it has.
func (s Server) String() string { return s.Rules.Named(s.file) }

// Denials returns all values that are sent for a denied or a cancelled answer.
func (s Server) Denials() []json.RawMessage { return s.Rules.Denials() }

// warning returns what an operator should know of the options, "" for nothing.
func (s Server) warning() string {
	for _, r := range s.Rules.List {
		if r.Profile != "" && r.Profile != strandsapi.Words {
			return logAnswerForm
		}
	}
	return ""
}

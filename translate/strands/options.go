package strands

import (
	"cmp"
	"encoding/json"

	"holdpoint/translate/internal/strandsapi"
)

// Options are the settings of the dialect, HOLDPOINT_STRANDS_*.
type Options struct {
	Server Server `env:"FILE" means:"answers" doc:"JSON file that describes the Strands server: the body, headers and paths of its requests, the part of its stream that clients see, and the form of answers. It is read only at start (docs/strands-reference.md#the-file)"`
}

// A Server is the content of an operator's file about a Strands server. Each member may be missing.
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
	// Body is the body of a request. "" means bodyDefault.
	Body Body
	// Headers are the headers of a request. nil means headersDefault.
	Headers Headers
	// Paths are the paths of the agents. If there are no Paths, every path leads to an agent.
	Paths Paths
	// Reasoning reports that the client is shown the model's reasoning.
	Reasoning bool
	// Text reports that plain text and bare strings are text of the agent. This is right only for
	// agents that never ask, because a server that sends only text drops an agent's questions.
	Text bool
	// Rules define the form of the answer to each question, because the documented hook accepts
	// only one string. They also have the path to the questions in a frame, for servers that send
	// frames of their own, such as {"type":"interrupt","interrupt_id":..}.
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

// UnmarshalText reads the file. The name of the file is the value of the variable.
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

// parseServer parses the content of the operator's file.
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

// String returns the name of the file and the number of its rules.
func (s Server) String() string { return s.Rules.StringFor(s.file) }

// Denials returns all values that the rules send for a denied or a cancelled answer.
func (s Server) Denials() []json.RawMessage { return s.Rules.Denials() }

// warning returns the log line for answer rules that can be risky, or "".
func (s Server) warning() string {
	for _, r := range s.Rules.List {
		if r.Profile != "" && r.Profile != strandsapi.Words {
			return logAnswerForm
		}
	}
	return ""
}

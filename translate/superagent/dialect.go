// Package superagent translates superagent-base (github.com/Colin4k1024/superagent-base) from 0.4.0
// on. It is an agent server with an HTTP API and event streams of its own.
//
//	POST /api/v1/chat/stream   {"agent_id","session_id","message"}      a run
//	POST /api/v1/chat/resume   {"agent_id","session_id","input":{..}}   the answer to its question
//
// The real stream differs from the documented one. It has one of three framings, whatever the
// request asks for. The response to a resume always consists of plain tokens. The dialect
// recognizes the framing in each frame, and also reads the documented stream:
//
//   - Plain tokens, one in each frame, with [DONE] at the end. A token that begins with NUL and
//     INTERRUPT: is the question.
//   - A2UI: events {"type","timestamp","data"} with their type as the name of the frame, and `done`
//     at the end.
//   - A2UI without names: text is the bare token, and `done` is [DONE].
//
// The most important fact: if the input of a resume is empty or missing, the server reads it as
// "User confirmed: yes, please proceed." So the dialect never sends an input without a key. If a
// cancelled question has no field for a no, the dialect sends no answer at all. The server's only
// "no" is `{"confirm": false}`, and its model then reads "Confirm action: false. Please proceed."
//
// The server stores each conversation under its session_id. The dialect sends the thread id
// unchanged as the session_id, because the server's other paths (interrupt_state, messages) use it
// too. A run has a single text: the last message, which must be from the user. The server's request
// has no member for the rest of a RunAgentInput (older messages, state, tools, context).
//
// Limits:
//
//   - While a question is open, superagent runs a new message and forgets the question. Only
//     Holdpoint's record keeps the question.
//   - If the agent asks again during a resume, that question is plain text, because the server does
//     not look for a question in the response to a resume.
//   - The server does not store the question of its TurnLoop agents (they send no checkpoint_id).
//     It refuses their resume with 404 or 409.
//   - Deadlines are not in the stream. HOLDPOINT_INTERRUPT_TTL can set one deadline for all
//     questions.
//   - Newlines at the end of a token are lost, unless the token consists only of newlines. If a
//     model writes a token equal to [DONE], its stream ends there.
//
// These facts are from the server's source code and documentation, which were read, not run, and
// from the bytes that its event-stream writer (hertz 0.10.4) writes.
package superagent

import (
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// Name is the dialect's name in HOLDPOINT_DIALECT.
const Name = "superagent"

// The path of an endpoint of the server is apiPath followed by streamPath or resumePath. It is
// relative to the upstream's path.
const (
	apiPath    = "/api/v1"
	streamPath = "/chat/stream"
	resumePath = "/chat/resume"
)

var _ translate.Foreign = (*Dialect)(nil)

// A Dialect implements translate.Guard.
type Dialect struct {
	agent string
	allow kit.Requests
}

// New returns the dialect. warn may be nil.
func New(o Options, warn translate.Warn) (*Dialect, error) {
	if err := o.Allow.Check(controlsRun); err != nil {
		return nil, err
	}
	for _, one := range o.Allow {
		if warn != nil {
			warn(logAllowed, "variable", "HOLDPOINT_SUPERAGENT_ALLOW", "request", one.String())
		}
	}
	return &Dialect{agent: o.AgentID, allow: o.Allow}, nil
}

// Name implements translate.Dialect.
func (*Dialect) Name() string { return Name }

// Route implements translate.Foreign. The client's runs are sent to the root path. The server's own
// endpoints for runs share the record of the root path, because a native resume sent there would
// answer a question without Holdpoint. This holds for every version of the API, because a server
// has several versions.
func (*Dialect) Route(path string) (string, bool) {
	path = strings.TrimRight(path, "/")
	return "/", path == "" || strings.HasSuffix(path, streamPath) || strings.HasSuffix(path, resumePath)
}

// Begin implements translate.Dialect.
func (d *Dialect) Begin(r *translate.Request) (translate.Out, translate.Run, error) {
	if r.Pause.ID == "" {
		message, err := lastSaid(r.Input.Messages)
		if err != nil {
			return translate.Out{}, nil, err
		}
		return d.chat(r, message), d.newRun(r), nil
	}
	kept, ok := keptOf(r.Pause)
	if !ok || len(r.Answers) != 1 {
		return translate.Out{}, nil, kit.Unreadable()
	}
	if err := kit.RefuseContested(r.Pause, r.Answers...); err != nil {
		return translate.Out{}, nil, err
	}
	input, err := inputOf(r.Answers[0], kept)
	if err != nil {
		return translate.Out{}, nil, err
	}
	run := d.newRun(r)
	run.resumes, run.cancelled = true, r.Answers[0].Status == agui.Cancelled
	if input == nil {
		return translate.Out{None: true}, run, nil
	}
	return d.answer(r, input), run, nil
}

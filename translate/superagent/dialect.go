// Package superagent translates superagent-base (github.com/Colin4k1024/superagent-base) from 0.4.0
// on. It is an agent server with an HTTP API and event streams of its own.
//
//	POST /api/v1/chat/stream   {"agent_id","session_id","message"}      a run
//	POST /api/v1/chat/resume   {"agent_id","session_id","input":{..}}   the answer to its question
//
// The documented stream and the real one differ. A stream comes in one of three framings, whatever
// was asked for; a resume is always answered in the first. The dialect reads both streams, and
// finds the framing in each frame:
//
//   - plain tokens, a frame each, with [DONE] at the end. A token that begins with NUL and
//     INTERRUPT: is the question;
//   - A2UI: events {"type","timestamp","data"} under their types' names, with `done` at the end;
//   - A2UI without names: text is the bare token, and `done` is [DONE].
//
// The most important fact: if the input of a resume is empty or missing, the server takes it for
// "User confirmed: yes, please proceed." So the dialect never sends an input without a key. If a
// question that has no word for no is cancelled, the dialect sends no answer at all.
// `{"confirm": false}` is all the "no" that the server has. Its model is told "Confirm action:
// false. Please proceed."
//
// The server keeps the conversation by session_id. That is the thread id as it is, because the
// server's other paths (interrupt_state, messages) take it too. A run takes one text: the
// last message, which must be the user's. The server's request has no place for the rest of a
// RunAgentInput (older messages, state, tools, context).
//
// What cannot be done:
//
//   - superagent runs a new message while it asks something, and forgets the question. Only
//     Holdpoint's record holds it.
//   - A second question after a resume is plain text, because the server does not look for one
//     there.
//   - The server does not keep a question of its TurnLoop agents (no checkpoint_id). It answers the
//     resume with 404 or 409.
//   - Deadlines are not in the stream. HOLDPOINT_INTERRUPT_TTL can say the same for all questions.
//   - Trailing newlines of a token are lost, unless the token is nothing else. A model that writes
//     a token equal to [DONE] ends its stream.
//
// Facts: the server's source and documentation, read, and the bytes of the event-stream writer that
// it uses (hertz 0.10.4).
package superagent

import (
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// Name of the dialect.
const Name = "superagent"

// The server's endpoints, below the upstream's path, are apiPath and one of the other two.
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

// New makes the dialect. warn may be nil.
func New(o Options, warn translate.Warn) (*Dialect, error) {
	if err := o.Allow.Check(steers); err != nil {
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

// Route implements translate.Foreign: runs are for the root, and the server's own endpoints for
// runs are the same place. A native resume would answer past the record, under whatever version of
// the API: servers have several beside each other.
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

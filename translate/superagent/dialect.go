// Package superagent translates superagent-base (github.com/Colin4k1024/superagent-base) from 0.4.0 on: an agent server
// with an HTTP API and event streams of its own.
//
//	POST <prefix>/chat/stream   {"agent_id","session_id","message"}      a run
//	POST <prefix>/chat/resume   {"agent_id","session_id","input":{..}}   the answer to its question
//
// The wire that is documented and the real one differ, and a stream comes in one of three framings whatever was asked for
// (a resume is always answered in the first). Both wires are read, and the framing is seen in each frame:
//
//   - one of plain tokens, a frame each, [DONE] at the end. A token that begins with NUL and INTERRUPT: is the question;
//   - A2UI, events {"type","timestamp","data"} under their types' names, `done` at the end;
//   - A2UI without names, in which text is the bare token and `done` is [DONE].
//
// What decides most: a resume whose input is empty or missing is "User confirmed: yes, please proceed." to the server. So
// no input without a key ever leaves, and a question that has no word for no is not answered at all when it is cancelled.
// `{"confirm": false}` is all the no that the server has; its model is told "Confirm action: false. Please proceed."
//
// The server keeps the conversation, by session_id, which is the thread id as it is, for the server's other paths
// (interrupt_state, abort) pass and take it too. A run takes one text: the last message, which must be the user's. The
// rest of a RunAgentInput (older messages, state, tools, context) has no place in its request.
//
// What cannot be done: superagent runs a new message while it asks something and forgets the question, so that only
// Holdpoint's record holds the question; a second question after a resume is plain text, for the server does not look for
// one there; a question of its TurnLoop agents (no checkpoint_id) is not kept by the server, which answers the resume with
// 404 or 409; deadlines are not on the wire (HOLDPOINT_SUPERAGENT_TIMEOUT). Trailing newlines of a token are lost on the
// wire unless the token is nothing else. A model that writes a token equal to [DONE] ends its stream.
//
// Facts: reference/superagent.md of this project: the server's source and documentation, read, and the bytes of the
// event-stream writer that it uses (hertz 0.10.4).
package superagent

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// Name of the dialect.
const Name = "superagent"

const (
	streamPath = "/chat/stream"
	resumePath = "/chat/resume"
)

var _ translate.Foreign = (*Dialect)(nil)

// A Dialect implements translate.Foreign.
type Dialect struct {
	agent, prefix string
	timeout       time.Duration
}

// New makes the dialect.
func New(o Options, _ translate.Warn) (*Dialect, error) {
	if err := errors.Join(o.Check()...); err != nil {
		return nil, fmt.Errorf("superagent: %w", err)
	}
	if o.Prefix == "" {
		o.Prefix = prefixDefault
	}
	return &Dialect{agent: o.AgentID, prefix: o.Prefix, timeout: o.Timeout}, nil
}

// Name implements translate.Dialect.
func (*Dialect) Name() string { return Name }

// FieldsOnly implements translate.FieldReader.
func (*Dialect) FieldsOnly(string) bool { return true }

// Route implements translate.Foreign: runs are for the root, and the server's own endpoints for runs are the same place. A
// native resume would answer past the record, under whatever version of the API: servers have several beside each other.
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

// Package strands translates native Strands servers, which do not speak AG-UI. In Python they are
// strands-agents from 1.13 on (RAN 1.40 and 1.62) behind AgentCore's entrypoint or plain FastAPI.
// In TypeScript they are @strands-agents/sdk (RAN 1.19.0) behind Express or AgentCore. They answer
// with an event stream, lines, or one JSON text. They can also answer with plain text, if the
// operator's file allows it.
//
// Hooks, tools, nodes and middleware can interrupt an agent. The run then ends. The question is in
// frames of its own, or only in the result. The prompt of the next request is the list of answers,
// [{"interruptResponse":{...}}]. The agent accepts nothing else until all questions are answered.
// It stores the conversation itself, so a request has only the new text.
//
// Limits:
//
//   - A server that streams only texts, or returns only the last message, drops the questions.
//   - If several calls wait, the TypeScript SDK sends the question of one call first. It sends each
//     further question only after the previous answer. It loses the question of an agent that is
//     used as a tool. It never repeats a question, so if Holdpoint does not know a question's id,
//     the question can never be answered.
//   - When an agent fails, AgentCore sends an error, but a FastAPI server breaks its stream off. So
//     on FastAPI the stream of an agent that waits looks like the stream of an agent that failed. A
//     Python agent can then be asked whether it waits, a TypeScript agent cannot.
//   - In Python, a graph with a denied node has failed for good.
//
// If an agent gets an empty list as its prompt, it sends its open questions again. But if an
// earlier resume failed, the agent still has the answers of that resume and acts on them. So after
// a failed resume the dialect sends null for each question in place of the empty list. If the
// record of the failure is lost (for example because a restart empties the memory store), the
// dialect does not know about the failure and sends the empty list.
//
// The documented hook, approval.lower() != "y", throws at every answer that is not a string. In
// Python the run then ends. But @strands-agents/sdk 1.19.0 runs the call without an approval (RAN).
// So a hook gets a string, unless a rule of the operator's file sets another form.
package strands

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/strandsapi"
	"holdpoint/translate/kit"
)

// Name is the dialect's name in HOLDPOINT_DIALECT.
const Name = "strands"

var _ translate.Foreign = (*Dialect)(nil)

// A Dialect implements translate.Foreign.
type Dialect struct {
	server Server // the operator's settings, with defaults for missing ones
	rules  strandsapi.Rules
}

// New returns the dialect. warn may be nil. New calls it if the settings are risky.
func New(o Options, warn translate.Warn) (*Dialect, error) {
	server := o.Server.withDefaults()
	if text := server.warning(); text != "" && warn != nil {
		warn(text, "variable", "HOLDPOINT_STRANDS_FILE")
	}
	if err := server.Body.check(); err != nil {
		return nil, err
	}
	return &Dialect{server: server, rules: server.Rules}, nil
}

// Name implements translate.Dialect.
func (*Dialect) Name() string { return Name }

// Route implements translate.Foreign. A slash at the end and parameters after a semicolon are
// ignored, so they do not lead to another route.
func (d *Dialect) Route(p string) (route string, ok bool) {
	segments := strings.Split(p, "/")
	for i, s := range segments {
		segments[i], _, _ = strings.Cut(s, ";")
	}
	p = path.Clean("/" + strings.Join(segments, "/"))
	// "/" is the path of the upstream URL itself, and always leads to the agent.
	return p, len(d.server.Paths) == 0 || p == "/" || slices.ContainsFunc(d.server.Paths, func(glob string) bool {
		ok, err := path.Match(glob, p)
		return ok && err == nil
	})
}

// Begin implements translate.Dialect.
func (d *Dialect) Begin(r *translate.Request) (translate.Out, translate.Run, error) {
	if r.Pause.ID == "" {
		text, taken, err := newPrompt(r.Input)
		if err != nil {
			return translate.Out{}, nil, err
		}
		run := newRun(d, r, newIDs(r))
		run.prompt, run.sent = text, taken
		return d.out(r, agui.MustMarshal(text)), run, nil
	}
	if kit.CancelsOnly(r.Pause) {
		next := d.cancel(r, kit.NewCancels(r.Pause))
		return next.Out, next.Run, nil
	}
	list, err := d.responses(r)
	if err != nil {
		return translate.Out{}, nil, err
	}
	run := newRun(d, r, newIDs(r))
	run.resumed, run.sentList = &r.Pause, true
	out := d.out(r, list)
	out.Resumes = true
	return out, run, nil
}

// out returns the request with the given prompt, which is JSON. Holdpoint reads the backend's
// response to the end even if the client leaves (ReadOn). The documented TypeScript server
// continues without a client and does not repeat its questions. A server that stops when the
// connection closes runs the calls that wait (RAN @strands-agents/sdk 1.19.0).
func (d *Dialect) out(r *translate.Request, prompt []byte) translate.Out {
	session := sessionOf(r.Input.ThreadID)
	return translate.Out{Body: d.server.Body.with(r.Input, prompt, session), Header: d.server.Headers.with(session), ReadOn: true}
}

// sessionOf returns the id of a thread's session at the backend. It is a hash of the thread id,
// because AgentCore writes session ids into its logs, and a thread id gives access to the thread.
// AgentCore requires at least 33 characters; the hash has 64.
func sessionOf(threadID string) string {
	sum := sha256.Sum256([]byte("holdpoint strands session\x00" + threadID))
	return hex.EncodeToString(sum[:])
}

// Package strands translates native Strands servers, which do not speak AG-UI. In Python they are
// strands-agents from 1.13 on (RAN 1.40 and 1.62) behind AgentCore's entrypoint or plain FastAPI.
// In TypeScript they are @strands-agents/sdk (RAN 1.19.0) behind Express or AgentCore. They send an
// event stream, lines, one JSON text, or plain text if the operator says so.
//
// Hooks, tools, nodes and middleware of an agent interrupt it. The run ends. The question stands in
// frames of its own, or in the result alone. The prompt of the next request is then the list of
// answers, [{"interruptResponse":{...}}]. Nothing else goes there until all are given. The agent
// keeps the conversation itself, so a request carries only what is new.
//
// What cannot be done:
//
//   - A server that streams only texts, or returns only the last message, drops the questions.
//   - The TypeScript SDK tells one of several calls that wait, and the others one by one as the
//     answers come. It loses the question of an agent that is used as a tool. It does not tell
//     again what it asked. So a question whose id is not known here can never be answered.
//   - A FastAPI server breaks its stream off where AgentCore sends an error. An agent that waits
//     and one that failed look the same, so Python is asked, and TypeScript cannot be.
//   - In Python a graph whose node was denied has failed for good.
//
// An agent can be asked with an empty list what it waits for. It then acts on the answers that it
// has kept of a resume that failed. So after such a resume the dialect asks it with null for each
// of them. If the record of the failure is gone (the memory store, a restart), nobody can know.
//
// The documented hook, approval.lower() != "y", fails at anything but a string. In Python that ends
// the run. @strands-agents/sdk 1.19.0 then carries the call out, unapproved (RAN). So a hook gets a
// string, unless the operator says otherwise.
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

// Name of the dialect.
const Name = "strands"

var _ translate.Foreign = (*Dialect)(nil)

// A Dialect implements translate.Foreign.
type Dialect struct {
	server Server // with its defaults
	rules  strandsapi.Rules
}

// New makes the dialect. warn may be nil. It is told what an operator should know of the options.
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

// Route implements translate.Foreign. A closing slash makes no other path, nor does what follows a
// semicolon.
func (d *Dialect) Route(p string) (route string, ok bool) {
	segments := strings.Split(p, "/")
	for i, s := range segments {
		segments[i], _, _ = strings.Cut(s, ";")
	}
	p = path.Clean("/" + strings.Join(segments, "/"))
	// "/" is the upstream's own path (proxy adds nothing for it). It always leads to the agent.
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
	run.resumed, run.listed = &r.Pause, true
	out := d.out(r, list)
	out.Resumes = true
	return out, run, nil
}

// out returns the request with a prompt, which is JSON. Its answer is read to the end, even if the
// client has left. The documented TypeScript server goes on then, and does not tell anybody again
// what it asks. A server that stops when it is hung up on carries out calls that wait (RAN
// @strands-agents/sdk 1.19.0).
func (d *Dialect) out(r *translate.Request, prompt []byte) translate.Out {
	session := sessionOf(r.Input.ThreadID)
	return translate.Out{Body: d.server.Body.with(r.Input, prompt, session), Header: d.server.Headers.with(session), ReadOn: true}
}

// sessionOf returns the session of a thread at the backend. It is not a secret of the thread, and
// holds nothing of the thread's id, because AgentCore shows it in its logs. AgentCore wants at
// least 33 characters.
func sessionOf(threadID string) string {
	sum := sha256.Sum256([]byte("holdpoint strands session\x00" + threadID))
	return hex.EncodeToString(sum[:])
}

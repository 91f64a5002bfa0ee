package scripted

import "net/http"

// A Line is a version of .NET's hosts. Its value is the date or the name of its recording (see
// testdata/README.md).
type Line string

const (
	Line1208 Line = "1208" // Agent Framework's own host, in its first version with approvals
	Line0413 Line = "0413" // the first version with ids that begin with ficc_
	Line0603 Line = "0603" // reads reasoning; joins consecutive messages with calls
	Line0707 Line = "0707" // the last version before AGUI.Server
	LineHead Line = "head" // Agent Framework on AGUI.Server 0.0.3
	LineNew  Line = "new"  // Agent Framework on AGUI.Server after 0.0.5
	LineSDK  Line = "sdk"  // AGUI.Server after 0.0.5, without Agent Framework
)

// Lines are all lines.
var Lines = []Line{Line1208, Line0413, Line0603, Line0707, LineHead, LineNew, LineSDK}

// InTree reports whether the line uses Agent Framework's own host, which has no interrupts.
func (l Line) InTree() bool {
	return l == Line1208 || l == Line0413 || l == Line0603 || l == Line0707
}

// A Wrapping selects the wrapper between the host and the pipeline.
type Wrapping string

const (
	Plain    Wrapping = "plain"    // no wrapper
	Wrapped  Wrapping = "step04"   // ServerFunctionApprovalAgent of Agent Framework's sample
	WrappedB Wrapping = "step04-b" // ApprovalChatClient of the SDK's sample
)

// server returns a server of this line, with the model, the tools and the wrapper.
func (l Line) server(ledger *Ledger, m *model, tools map[string]tool, wrapping Wrapping) *Server {
	p := &pipeline{meai: l.meai(), model: m, tools: tools}
	name := of(string(wrapping))
	if l == LineHead || l == LineNew {
		p.author, p.bound = name, true
	}
	return l.serving(ledger, name, p.wrapped(wrapping))
}

func (l Line) meai() meai {
	switch l {
	case Line1208:
		return meai910
	case LineNew:
		return meai1011
	}
	return meai105
}

// serving returns a server that puts the line's host in front of an agent. name is the agent's
// name, which the newer hosts of Agent Framework send.
func (l Line) serving(ledger *Ledger, name *string, ask agent) *Server {
	var host interface {
		serve(w http.ResponseWriter, body []byte, ask agent)
	}
	ownID := func(u *update, _ functionResult) string { return *u.message }
	callID := func(_ *update, r functionResult) string { return "result-" + r.callID }
	switch l {
	case Line1208, Line0413:
		host = inTree{resultID: ownID}
	case Line0603, Line0707:
		host = inTree{coalesce: true, reasoning: true, resultID: callID}
	case LineHead:
		host = aguiServer{agent: name}
	case LineNew:
		host = aguiServer{agent: name, nulls: true, newest: true}
	case LineSDK:
		host = aguiServer{newest: true}
	}
	return newServer(ledger, func(w http.ResponseWriter, body []byte) { host.serve(w, body, ask) })
}

// wrapped returns the pipeline as an agent, behind the wrapper that wrapping selects.
func (p *pipeline) wrapped(wrapping Wrapping) agent {
	in := func(messages []*chatMessage) ([]*chatMessage, error) { return messages, nil }
	out := func(*update) {}
	switch wrapping {
	case Wrapped:
		in = wrapA
		out = func(u *update) {
			if wrapOut(u, func(r *toolApprovalRequest) string { return r.id }) {
				u.finish, u.modelID = nil, nil // the wrapper does not copy these fields
			}
		}
	case WrappedB:
		in = wrapB
		out = func(u *update) { wrapOut(u, func(r *toolApprovalRequest) string { return r.call.id }) }
	}
	if p.bound {
		wrap := in
		in = func(messages []*chatMessage) ([]*chatMessage, error) {
			messages, err := wrap(messages)
			return bound(messages), err
		}
	}
	return p.agent(in, out)
}

// New returns a server of this line with the model and the tools of the recordings (see files.go).
func (l Line) New(ledger *Ledger, wrapping Wrapping) *Server {
	m := &model{Ledger: ledger, files: true, sdk: l == LineSDK, sample: wrapping == WrappedB}
	return l.server(ledger, m, ledger.fileTools(), wrapping)
}

package scripted

import "encoding/json"

// A Layout is one of the .NET programs that ask with a call of request_approval. The programs
// differ in the ids of that call, which their wrapper makes.
type Layout string

const (
	// LayoutA1 is the sample of agent-framework with Microsoft.Extensions.AI (MEAI) up to 10.3, in
	// agent-framework's own host (eb06faea2, 2025-12-08, to 2026-03-20). The request_approval call
	// and the approval have the id of the original call. The sample's model gives no id to the
	// update with the calls, so parentMessageId is null.
	LayoutA1 Layout = "A1"
	// LayoutA2Old is the same sample with MEAI 10.4 to 10.8, up to dotnet-1.13.0. The
	// request_approval call and the approval have the id "ficc_" plus the id of the original call.
	LayoutA2Old Layout = "A2-old"
	// LayoutA2New is the same sample on AGUI.Server 0.0.3 (dotnet-1.14.0, 2026-07-21, and later).
	LayoutA2New Layout = "A2-new"
	// LayoutB is the sample of the AG-UI SDK for .NET. The request_approval call has the id of the
	// original call, and the approval has "ficc_" plus that id. Its frames are those of ag-ui
	// sdks/dotnet/tests/AGUI.Hosting.AspNetCore.IntegrationTests/Samples/GettingStarted/
	// baselines/Step04_HumanInLoop/PostRun_WithApprovalRequired_RoundTripsThroughBothWrappers#Turn_01.07.Response.Client.AGUI.verified.json
	// and …#Turn_02.07.Response.Client.AGUI.verified.json (821b8c227).
	LayoutB Layout = "B"
)

// Layouts are all layouts.
var Layouts = []Layout{LayoutA1, LayoutA2Old, LayoutA2New, LayoutB}

// RequestApproval returns a backend with this layout. It asks with a call of request_approval.
func RequestApproval(layout Layout, l *Ledger) *Server {
	m := &model{Ledger: l, provider: azure}
	switch layout {
	case LayoutA1:
		m.provider = nameless
		return Line1208.server(l, m, l.tools(), Wrapped)
	case LayoutA2Old:
		m.provider = openAI
		return Line0707.server(l, m, l.tools(), Wrapped)
	case LayoutA2New:
		return LineHead.server(l, m, l.tools(), Wrapped)
	default:
		return LineSDK.server(l, m, l.tools(), WrappedB)
	}
}

// An agent handles the messages of a run, and calls yield with each update of its response.
type agent func(in input, messages []*chatMessage, yield func(*update)) error

// agent returns an agent that runs the pipeline. The function in changes the messages before the
// run, and the function out changes each update. If the client shares a state, the agent sends the
// new state after each update that has results of tools.
func (p *pipeline) agent(in func([]*chatMessage) ([]*chatMessage, error), out func(*update)) agent {
	return func(run input, messages []*chatMessage, yield func(*update)) error {
		thread, state := *run.ThreadID, stateOf(run.State)
		messages, err := in(messages)
		if err == nil {
			err = p.run(thread, messages, run.names(), func(u *update) {
				out(u)
				yield(u)
				if state.add(u.contents) {
					yield(&update{event: obj("type", "STATE_SNAPSHOT", "snapshot", state)})
				}
			})
		}
		if err != nil {
			p.model.complain(thread, err.Error())
		}
		return err
	}
}

// A sharedState is the state that the applications of this package share with their clients. It
// contains the results of the tools that ran so far.
type sharedState struct {
	Results []string `json:"results"`
}

// stateOf parses the state of a request. It returns nil if the client shares no state.
func stateOf(raw json.RawMessage) *sharedState {
	var s sharedState
	if json.Unmarshal(raw, &s) != nil || s.Results == nil {
		return nil
	}
	return &s
}

// add appends the results of tools in contents to the state, except the results of rejected and
// failed calls. It reports whether it has appended a result.
func (s *sharedState) add(contents []content) bool {
	if s == nil {
		return false
	}
	before := len(s.Results)
	for _, c := range contents {
		if r, ok := c.(functionResult); ok {
			if _, returned := r.value.(json.RawMessage); returned {
				s.Results = append(s.Results, r.plain())
			}
		}
	}
	return len(s.Results) > before
}

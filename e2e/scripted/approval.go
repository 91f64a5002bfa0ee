package scripted

import "encoding/json"

// A Layout selects a program with request_approval. They differ in the ids of the synthetic call.
type Layout string

const (
	// LayoutA1 is the sample of agent-framework with MEAI up to 10.3, in its own host (eb06faea2,
	// 2025-12-08, to 2026-03-20): the ids of the call and of the approval are the id of the
	// original call. Its model gives no id to the update with the calls, so parentMessageId is
	// null.
	LayoutA1 Layout = "A1"
	// LayoutA2Old is the same sample with MEAI 10.4 to 10.8, up to dotnet-1.13.0: both ids are
	// "ficc_" and the id of the original call.
	LayoutA2Old Layout = "A2-old"
	// LayoutA2New is the same sample on AGUI.Server 0.0.3 (dotnet-1.14.0, 2026-07-21, and later).
	LayoutA2New Layout = "A2-new"
	// LayoutB is the sample of the AG-UI SDK for .NET: the call has the original's id, the approval
	// ficc_ before it. Its frames are those of ag-ui
	// sdks/dotnet/tests/AGUI.Hosting.AspNetCore.IntegrationTests/Samples/GettingStarted/
	// baselines/Step04_HumanInLoop/PostRun_WithApprovalRequired_RoundTripsThroughBothWrappers#Turn_01.07.Response.Client.AGUI.verified.json
	// and …#Turn_02.07.Response.Client.AGUI.verified.json (821b8c227).
	LayoutB Layout = "B"
)

// Layouts are all layouts.
var Layouts = []Layout{LayoutA1, LayoutA2Old, LayoutA2New, LayoutB}

// RequestApproval returns a backend that asks with a call of request_approval.
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

// An agent handles the messages that a host gives it, and yields updates.
type agent func(in input, messages []*chatMessage, yield func(*update)) error

// agent returns the pipeline with a wrapper. If the application shares a state, the state is sent
// after each tool that ran.
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

// A sharedState is the state that the applications of this package share with their clients: the
// results so far.
type sharedState struct {
	Results []string `json:"results"`
}

// stateOf parses the state of a request; nil if the client shares none.
func stateOf(raw json.RawMessage) *sharedState {
	var s sharedState
	if json.Unmarshal(raw, &s) != nil || s.Results == nil {
		return nil
	}
	return &s
}

// add adds the results of tools, except of rejected and failed calls. It reports whether it has
// added any.
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

package scripted

import "net/http"

// DotNet is a host on AGUI.Server whose approvals are interrupts of the outcome (ag-ui
// sdks/dotnet/samples/GettingStarted/Step09_InterruptsApproval). Its frames are those of ag-ui
// sdks/dotnet/tests/AGUI.Hosting.AspNetCore.IntegrationTests/Samples/GettingStarted/baselines/Step09_InterruptsApproval/
// PostRun_DeleteRequest_EmitsInterruptThenResumes#Turn_01.07.Response.Client.AGUI.verified.json and
// …#Turn_02.07….
func DotNet(l *Ledger) *Server {
	p := &pipeline{tools: l.tools(), model: &model{l, azure}, prefix: "ficc_", asked: "ToolApprovalRequestContent", answered: "ToolApprovalResponseContent"}
	ask := p.agent(func(m []*chatMessage) ([]*chatMessage, error) { return m, nil }, func(*update) {})
	return newServer(l, func(w http.ResponseWriter, body []byte) { aguiServer{usage: true}.serve(w, body, ask) })
}

package scripted

// DotNet returns a host on AGUI.Server. Its approvals are interrupts in the outcome (ag-ui
// sdks/dotnet/samples/GettingStarted/Step09_InterruptsApproval). Its frames are those of ag-ui
// sdks/dotnet/tests/AGUI.Hosting.AspNetCore.IntegrationTests/Samples/GettingStarted/baselines/Step09_InterruptsApproval/
// PostRun_DeleteRequest_EmitsInterruptThenResumes#Turn_01.07.Response.Client.AGUI.verified.json and
// …#Turn_02.07….
func DotNet(l *Ledger) *Server {
	return LineSDK.server(l, &model{Ledger: l, provider: azure}, l.tools(), Plain)
}

// Package dotnetclient contains ports of the AG-UI clients of .NET, for tests: AGUIChatClient of
// the AG-UI SDK (sdk.go) and of Agent Framework before dotnet-1.14.0 (intree.go), the
// FunctionInvokingChatClient inside both (invoking.go), the sample clients of request_approval
// around them (wrapper_a.go, wrapper_b.go), and the program around a client, which keeps the
// conversation (application.go). They send the same bytes as the real clients, and throw where
// those throw. They do not depend on what responds to them.
//
// The behavior was observed in running programs: AGUI.* 0.0.3 to ag-ui 821b8c227, Agent Framework
// eb06faea2 (2025-12-08) to 5eb3eb745 (2026-08-07), Microsoft.Extensions.AI 10.4 to 10.11. testdata
// has their requests and responses.
//
// Two features of the SDK's client are not ported. There is no recording of a RunAgentInput in
// RawRepresentationFactory, by which an application sets ids and fields itself. There is one
// recording of the protobuf form, through Holdpoint (testdata/sdk-protobuf-through.txt): the client
// gets an SSE stream there, and reads it as any other.
package dotnetclient

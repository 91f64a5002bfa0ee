// Package dotnetclient holds ports of the AG-UI clients of .NET, for tests: AGUIChatClient of the
// AG-UI SDK (sdk.go) and of Agent Framework before dotnet-1.14.0 (intree.go), the
// FunctionInvokingChatClient inside both (invoking.go), the sample clients of request_approval
// around them (wrapper_a.go, wrapper_b.go), and the program around a client, which keeps the
// conversation (application.go). They send the bytes that the real clients send, and throw where
// those throw. They know nothing of what answers them.
//
// The behaviour was seen on running programs: AGUI.* 0.0.3 to ag-ui 821b8c227, Agent Framework
// eb06faea2 (2025-12-08) to 5eb3eb745 (2026-08-07), Microsoft.Extensions.AI 10.4 to 10.11. testdata
// has what they sent and were sent.
//
// Two things of the SDK's client are not ported. Of RunAgentInput in RawRepresentationFactory, by
// which an application sets ids and fields of its own, there is no recording. Of the protobuf form
// there is one, behind Holdpoint (testdata/sdk-protobuf-through.txt): the client gets an SSE stream
// there, and reads it as any other.
package dotnetclient

// Package dotnetclient contains ports of .NET's AG-UI clients, for tests. sdk.go has AGUIChatClient
// of the AG-UI SDK, and intree.go that of Agent Framework before dotnet-1.14.0. invoking.go has the
// FunctionInvokingChatClient inside both. wrapper_a.go and wrapper_b.go have the sample clients of
// request_approval, which wrap a client. application.go has the program around a client, which
// keeps the conversation. The ports send the same bytes as the real clients, and throw where those
// throw. They do not depend on what responds to them.
//
// The behavior was observed in running programs: AGUI.* 0.0.3 to ag-ui 821b8c227, Agent Framework
// eb06faea2 (2025-12-08) to 5eb3eb745 (2026-08-07), Microsoft.Extensions.AI 10.4 to 10.11. testdata
// has their requests and responses.
//
// Two features of the SDK's client are not ported. One is a RunAgentInput in
// RawRepresentationFactory, by which an application sets ids and members itself: there is no
// recording of it. The other is the protobuf format. Its only recording goes through Holdpoint
// (testdata/sdk-protobuf-through.txt): the client gets an SSE stream there, and reads it like any
// other stream.
package dotnetclient

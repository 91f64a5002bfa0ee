// Package scripted holds backends that pause in ways for which there is no program to install here: .NET's, AG-UI's first
// drafts, superagent, and adapters of other languages. They are servers over net/http that send and demand what the real programs do,
// with a model that follows a script. They know nothing of Holdpoint.
//
// The .NET ones are ports of the parts that matter, so that they are strict where the originals are and for the same
// reasons: FunctionInvokingChatClient of Microsoft.Extensions.AI (ficc.go), the two wrappers that make a request_approval
// of an approval (wrapper.go) and the hosts that make events of updates (host.go, intree.go). Read in dotnet/extensions
// 5862342c9, ag-ui 821b8c227 and agent-framework 5eb3eb745. None of it was compared with a running .NET; what a recorded
// run shows is held against it by TestScriptedFramesAreThePublishedOnes in the package above.
//
// A scene is chosen by the last thing that the person said, see script.go. What a tool does is counted, per thread, by
// its argument: GET /executed/{thread}.
package scripted

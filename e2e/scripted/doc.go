// Package scripted contains backends that pause in ways for which no program can be installed here:
// .NET's, AG-UI's first drafts, superagent, and adapters of other languages. They are servers with
// net/http. They send and require the same as the real programs, with a model that follows a
// script. They do not depend on Holdpoint.
//
// The .NET backends are ports of the relevant parts, so they are strict in the same places as the
// originals. The ports are of FunctionInvokingChatClient of Microsoft.Extensions.AI (ficc.go), of
// the two wrappers that turn an approval into request_approval (wrapper.go), and of the hosts that
// turn updates into events (host.go, intree.go). line.go has the versions. The sources are
// dotnet/extensions 5862342c9, ag-ui 821b8c227 and agent-framework 5eb3eb745, and the ports are
// compared with responses of running hosts (TestRecordedAnswers). workflow.go has the sessions of a
// workflow. There is no recording of its host; it follows notes about running ones.
//
// The person's last message selects the scene, see script.go. GET /executed/{thread} returns what
// the tools did on a thread, counted by their argument.
package scripted

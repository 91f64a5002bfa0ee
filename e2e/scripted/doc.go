// Package scripted holds backends that pause in ways for which no program can be installed here:
// .NET's, AG-UI's first drafts, superagent, and adapters of other languages. They are servers over
// net/http. They send and demand what the real programs do, with a model that follows a script.
// They know nothing of Holdpoint.
//
// The .NET ones are ports of the parts that matter, so they are strict where the originals are, and
// for the same reasons. The ports are of FunctionInvokingChatClient of Microsoft.Extensions.AI
// (ficc.go), of the two wrappers that make a request_approval of an approval (wrapper.go), and of
// the hosts that make events of updates (host.go, intree.go). line.go has the versions. The source
// was read in dotnet/extensions 5862342c9, ag-ui 821b8c227 and agent-framework 5eb3eb745, and the
// ports are held to what running hosts sent (TestRecordedAnswers). workflow.go has the sessions of
// a workflow, of whose host there is no recording: it does what was written down of running ones.
//
// The last thing that the person said chooses the scene, see script.go. GET /executed/{thread} says
// what the tools did on a thread, counted by their argument.
package scripted

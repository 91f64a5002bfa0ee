// Package scripted contains backends that pause in ways for which no program can be installed here:
// .NET's hosts, AG-UI's first drafts, superagent, and adapters in other languages. The backends are
// HTTP servers. They send and require the same as the real programs, with a model that follows a
// script. They do not depend on Holdpoint.
//
// The .NET backends are ports of those parts of the originals that matter here. So they accept and
// refuse the same requests as the originals. The ports are of FunctionInvokingChatClient of
// Microsoft.Extensions.AI (ficc.go), of the two wrappers that turn an approval into
// request_approval (wrapper.go), and of the hosts that turn updates into events (host.go,
// intree.go). line.go lists the versions. The sources are dotnet/extensions 5862342c9, ag-ui
// 821b8c227 and agent-framework 5eb3eb745. TestRecordedAnswers compares the ports with the
// responses of running hosts. workflow.go has the sessions of a workflow. No recording of a
// workflow's host exists; its port follows notes about running hosts.
//
// The person's last message selects the scene (script.go lists the scenes). GET /executed/{thread}
// returns how many times each action ran on a thread, by the argument of its tool call.
package scripted

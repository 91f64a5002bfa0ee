package agentframework

import (
	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// Stand-ins for the .NET host, which another part of this package is to bring.

func signDotnet(agui.Event) bool { return false }

type dotnetStream struct{}

func (*dotnetStream) note(agui.Event) {}

func (*dotnetStream) paused(translate.Request, agui.Event) (p agui.Pause, clean agui.Event, ok bool) {
	return agui.Pause{}, agui.Event{}, false
}

func isDotnet(agui.Pause) bool { return false }

func resumeDotnet(translate.Request) (translate.Out, translate.Run, error) {
	return translate.Out{}, nil, unreadable()
}

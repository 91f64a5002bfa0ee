package plaincalls

import (
	"strings"

	"holdpoint/internal/agui"
)

// Starts notes which calls of a run that ask were begun more than once under one id. Ids of some
// models repeat, and a client makes one call of the two.
type Starts struct {
	open  map[string]bool // the calls that ask and have no result
	twice map[string]bool
}

// See is called for every event.
func (s *Starts) See(p *Protocol, in agui.RunInput, ev agui.Event) {
	switch ev.Type {
	case agui.CallStart:
		id := agui.View(ev.JSON).Get("toolCallId").Str
		switch {
		case s.open[id]:
			if s.twice == nil {
				s.twice = map[string]bool{}
			}
			s.twice[strings.Clone(id)] = true
		case p.Asks(agui.View(ev.JSON).Get("toolCallName").Str, in):
			if s.open == nil {
				s.open = map[string]bool{}
			}
			s.open[strings.Clone(id)] = true
		}
	case agui.CallResult:
		id := agui.View(ev.JSON).Get("toolCallId").Str
		delete(s.open, id)
		delete(s.twice, id)
	}
}

// Passes says whether See would do nothing for an event of the type.
func (*Starts) Passes(of agui.Type) bool { return of != agui.CallStart && of != agui.CallResult }

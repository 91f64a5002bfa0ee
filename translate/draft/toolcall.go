package draft

import (
	"fmt"
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/plaincalls"
	"holdpoint/translate/kit"
	"holdpoint/translate/yesno"
)

// denied is what a denied approval of a function becomes, and the no of a backend that asks by a
// call.
const (
	approved = `{"approved":true}`
	denied   = `{"approved":false}`
)

// protocol is that of a backend that says outcome:"interrupt" and no more.
func protocol(tools kit.Names) plaincalls.Protocol {
	words, err := yesno.NewWords(approved, denied)
	if err != nil {
		panic(err) // they are ours
	}
	return plaincalls.Protocol{Dialect: Name, Ask: tools, Words: words, Message: func(tool, said string) string {
		if said == "" {
			return fmt.Sprintf("The agent asks to call the tool %s.", tool)
		}
		return said
	}}
}

// askedBy returns the calls that ask. A client's history has no result for a call that was
// answered, so the calls of this run come first. If this run made none, the backend still waits for
// those that it made last.
func (run *run) askedBy() []agui.Call {
	var open []agui.Call
	for _, c := range run.calls() {
		if !c.Answered && !run.answers.Again(c.ID, c.Parent) && run.d.protocol.Asks(c.Name, run.r.Input) {
			open = append(open, c)
		}
	}
	if len(open) == 0 {
		return nil
	}
	if ofThisRun := slices.DeleteFunc(slices.Clone(open), func(c agui.Call) bool { return !c.Fresh }); len(ofThisRun) > 0 {
		return ofThisRun
	}
	last := open[len(open)-1].Parent
	return slices.DeleteFunc(open, func(c agui.Call) bool { return c.Parent != last })
}

// pausedBy returns the result of a run that asks by tool calls.
func (run *run) pausedBy(end end, asked []agui.Call) translate.Result {
	p := translate.Asked{Private: agui.MustMarshal(pausePrivate{byMessage, plaincalls.Kept{Clients: plaincalls.Clients(run.r)}})}
	run.d.protocol.AskAbout(&p, run.r, asked, &run.starts)
	return run.result(end, p)
}

// withoutAbandoned returns the input without the calls that asked in an earlier pause and have no
// result.
func (d *Dialect) withoutAbandoned(r *translate.Request) agui.RunInput {
	return d.protocol.Without(r, func(p agui.Pause) bool { return formOf(p) == byMessage })
}

// next returns the exchange for the messages beside the answers. The first exchange could not carry
// them, because the answers have to be the last there.
func (run *run) next() *translate.Exchange {
	out := translate.Out{Body: kit.Unanswered(run.r.Input, kit.MessagesBehind(run.r, run.answers.Replies)), TakesNew: true}
	return &translate.Exchange{Out: out, Run: run.d.plainRun(run.r)}
}

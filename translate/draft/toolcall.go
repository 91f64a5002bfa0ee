package draft

import (
	"cmp"
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/calls"
	"holdpoint/translate/kit"
	"holdpoint/translate/yesno"
)

// approved and denied are the answers for a backend that asks by a tool call. denied is also the
// payload that denies the approval of a function.
const (
	approved = `{"approved":true}`
	denied   = `{"approved":false}`
)

// askedByCalls returns the table for backends whose end has only outcome:"interrupt". They ask by a
// call of one of the tools.
func askedByCalls(tools kit.Names) *calls.Plain {
	words, err := yesno.NewWords(approved, denied)
	if err != nil {
		panic(err) // the two words are constants, so they are valid
	}
	return calls.NewPlain(calls.Plain{
		Table: calls.Table{Dialect: Name, Backend: textBackend}, Tools: tools, Words: words,
		MadePause: func(p agui.Pause) bool { return formOf(p) == byMessage },
	}, func(tool, said string) string { return cmp.Or(said, calls.AsksToCall(tool)) })
}

// askingCalls returns the calls that ask. The calls of this run are preferred, because the client's
// history may lack the results of older calls that were answered. If no call of this run asks, the
// backend still waits for the answers to the last calls of the history.
func (run *run) askingCalls() []agui.Call {
	var open []agui.Call
	for _, c := range run.calls() {
		if !c.Answered && !run.Answered.IsRepeated(c) && run.d.Tools.Match(c.Name) && !run.Request.Input.Declares(c.Name) {
			open = append(open, c)
		}
	}
	if len(open) == 0 {
		return nil
	}
	if ofThisRun := slices.DeleteFunc(slices.Clone(open), func(c agui.Call) bool { return !c.StreamedInRun }); len(ofThisRun) > 0 {
		return ofThisRun
	}
	last := open[len(open)-1].Parent
	return slices.DeleteFunc(open, func(c agui.Call) bool { return c.Parent != last })
}

// pauseByCalls returns the result of a run that asks by tool calls.
func (run *run) pauseByCalls(end end, asked []agui.Call) translate.Result {
	p := translate.AskedPause{Private: agui.MustMarshal(pausePrivate{byMessage, run.PauseState()})}
	run.AskAbout(&p, nil, asked)
	return run.result(end, p)
}

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

// approved and denied are the answers to a backend that asks by a call. denied is also the denial
// for the approval of a function.
const (
	approved = `{"approved":true}`
	denied   = `{"approved":false}`
)

// askedByCalls returns the table for backends whose end has only outcome:"interrupt", and which ask
// by calling one of the tools.
func askedByCalls(tools kit.Names) *calls.Plain {
	words, err := yesno.NewWords(approved, denied)
	if err != nil {
		panic(err) // the templates are constants
	}
	return calls.NewPlain(calls.Plain{
		Table: calls.Table{Dialect: Name, Backend: textBackend}, Tools: tools, Words: words,
		MadePause: func(p agui.Pause) bool { return formOf(p) == byMessage },
	}, func(tool, said string) string { return cmp.Or(said, calls.AsksToCall(tool)) })
}

// askingCalls returns the calls that ask. The client's history may lack the results of calls that
// were answered, so the calls of this run are preferred. If this run made none, the backend still
// waits for the last calls of the history.
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

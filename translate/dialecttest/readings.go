package dialecttest

import (
	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// Readings returns the meanings of answers for the audit: + approved, - denied and ? neither. An e
// follows an approval of edited arguments.
func Readings(d translate.Dialect, p agui.Pause, answers []agui.Answer) (text string) {
	for _, r := range read(d, p, answers) {
		text += map[agui.Meaning]string{agui.Approves: "+", agui.Denies: "-", agui.Unclear: "?"}[r.Meaning]
		if r.Edited {
			text += "e"
		}
	}
	return text
}

// read reads answers as proxy does.
func read(d translate.Dialect, p agui.Pause, answers []agui.Answer) []agui.Reading {
	list := make([]agui.Reading, len(answers))
	for n, a := range answers {
		if i := p.Interrupt(a.ID); i != nil {
			list[n] = kit.Read(*i, a)
		}
	}
	if one, ok := d.(translate.Interpreter); ok {
		one.Interpret(p, answers, list)
	}
	return list
}

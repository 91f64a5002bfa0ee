package dialecttest

import (
	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// Readings returns the meanings of the answers, as the audit log would have them. Each answer is
// one character: + for an approval, - for a denial and ? for neither. An e after + means that
// arguments were edited.
func Readings(d translate.Dialect, p agui.Pause, answers []agui.Answer) (text string) {
	for _, r := range read(d, p, answers) {
		text += map[agui.Meaning]string{agui.Approves: "+", agui.Denies: "-", agui.Unclear: "?"}[r.Meaning]
		if r.Edited {
			text += "e"
		}
	}
	return text
}

// read returns the meaning of each answer, as the package proxy finds it out.
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

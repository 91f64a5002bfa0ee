package settle

import (
	"holdpoint/internal/agui"
	"holdpoint/store"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// MaxExchanges bounds the exchanges of one run. A dialect that answers question by question needs
// one for each and a few more, and one with a bug would begin them for ever.
const MaxExchanges = 2 * kit.MaxQuestions

// Failed is a fate beside those of translate: the dialect has failed at the end, and nobody knows
// what it would have said.
const Failed translate.Fate = -1

// An Evidence is how far the exchanges of a run got with the answers. The exchange counts it. The
// zero value is that of a run without an exchange.
type Evidence struct {
	Exchanges int  // begun so far
	Resumes   bool // the current one carries answers
	None      bool // the current one is not sent
	Connected bool // there was a connection for the current one: bytes may have gone out
	Before    int  // exchanges before the current one that may have gone out with answers
}

// Next returns the evidence after one more exchange has begun.
func (e Evidence) Next(out *translate.Out) Evidence {
	if e.Resumes && e.Connected {
		e.Before++
	}
	return Evidence{Exchanges: e.Exchanges + 1, Resumes: out.Resumes, None: out.None, Before: e.Before}
}

// Sent reports whether answers may have gone out.
func (e Evidence) Sent() bool { return e.Before > 0 || e.Resumes && e.Connected }

// OnlyHere reports whether the current exchange carries the answers, and no exchange before it did.
func (e Evidence) OnlyHere() bool { return e.Resumes && e.Before == 0 }

// GivesBack reports whether a claimed pause is open again after such an end. Answers that were sent
// are given back only by the one exchange that carried them:
//
//   - the run failed before an exchange with the answers went out;
//   - one exchange with answers went out, and its end says that the backend did nothing.
func GivesBack(e Evidence, result *store.Result, became translate.Fate) bool {
	switch {
	case became == translate.Lost, became == translate.InDoubt, e.None && became != Failed:
		return false
	case became == Failed:
		return !e.Sent()
	case !e.Sent():
		return agui.PeekType(result.Finish) == agui.RunErrored
	}
	return became == translate.Untouched && e.OnlyHere()
}

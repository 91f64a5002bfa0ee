package settle

import (
	"holdpoint/internal/agui"
	"holdpoint/store"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// MaxExchanges bounds the exchanges of one run. A dialect that answers question by question needs
// one for each question and a few more; the bound stops a dialect with a bug.
const MaxExchanges = 2 * kit.MaxQuestions

// Failed is a fate in addition to those of translate: the dialect failed at the end, so its own
// fate is not known.
const Failed translate.Fate = -1

// An Evidence says how far the exchanges of a run have sent the answers. The exchange counts it.
// The zero value belongs to a run without an exchange.
type Evidence struct {
	Exchanges int  // number begun so far
	Resumes   bool // the current one carries answers
	None      bool // the current one is not sent
	Connected bool // the current one got a connection: bytes may have been sent
	Before    int  // number of earlier ones that may have sent answers
}

// Next returns the evidence after another exchange has begun.
func (e Evidence) Next(out *translate.Out) Evidence {
	if e.Resumes && e.Connected {
		e.Before++
	}
	return Evidence{Exchanges: e.Exchanges + 1, Resumes: out.Resumes, None: out.None, Before: e.Before}
}

// Sent reports whether answers may have been sent.
func (e Evidence) Sent() bool { return e.Before > 0 || e.Resumes && e.Connected }

// OnlyHere reports whether the current exchange carries the answers, and no exchange before it did.
func (e Evidence) OnlyHere() bool { return e.Resumes && e.Before == 0 }

// GivesBack reports whether a claimed pause becomes open again after such an end. It does in two
// cases:
//
//   - the run failed before an exchange with answers was sent;
//   - exactly one exchange with answers was sent, and its end says that the backend did nothing.
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

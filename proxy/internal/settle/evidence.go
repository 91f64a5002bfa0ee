package settle

import (
	"holdpoint/internal/agui"
	"holdpoint/store"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// MaxExchanges is the largest number of exchanges of one run. A dialect that sends the answers one
// by one needs one exchange for each question, and a few more. The limit stops a dialect with a
// bug.
const MaxExchanges = 2 * kit.MaxQuestions

// Failed is a fate in addition to those of package translate. It means that the dialect failed at
// the end of the exchange, so the fate of the answers is not known.
const Failed translate.Fate = -1

// An Evidence says how far the exchanges of a run have sent the answers to the backend. The zero
// value belongs to a run without an exchange.
type Evidence struct {
	Exchanges        int  // number of exchanges begun so far
	Resumes          bool // the current exchange carries answers
	None             bool // the current exchange is not sent
	Connected        bool // the current exchange got a connection: its bytes may have been sent
	EarlierExchanges int  // number of earlier exchanges that may have sent answers
}

// Next returns the evidence after the next exchange, whose request is out, has begun.
func (e Evidence) Next(out *translate.Out) Evidence {
	if e.Resumes && e.Connected {
		e.EarlierExchanges++
	}
	return Evidence{Exchanges: e.Exchanges + 1, Resumes: out.Resumes, None: out.None, EarlierExchanges: e.EarlierExchanges}
}

// MayHaveSent reports whether answers may have been sent.
func (e Evidence) MayHaveSent() bool { return e.EarlierExchanges > 0 || e.Resumes && e.Connected }

// OnlyHere reports whether the current exchange carries the answers, and no exchange before it did.
func (e Evidence) OnlyHere() bool { return e.Resumes && e.EarlierExchanges == 0 }

// GivesBack reports whether a claimed pause becomes open again after the run has ended with the
// given evidence, result and fate. It becomes open again in two cases:
//
//   - the run failed before an exchange with answers was sent;
//   - exactly one exchange with answers was sent, and its end says that the backend did nothing.
func GivesBack(e Evidence, result *store.Result, fate translate.Fate) bool {
	switch {
	case fate == translate.Lost, fate == translate.InDoubt, e.None && fate != Failed:
		return false
	case fate == Failed:
		return !e.MayHaveSent()
	case !e.MayHaveSent():
		return agui.PeekType(result.Finish) == agui.RunErrored
	}
	return fate == translate.Untouched && e.OnlyHere()
}

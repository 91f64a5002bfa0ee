package proxy

import (
	"sync/atomic"

	"holdpoint/translate/kit"
)

// maxExchanges bounds the exchanges of one run: a dialect that answers question by question needs
// one for each and a few more, and one with a bug would go on for ever.
const maxExchanges = 2 * kit.MaxQuestions

// evidence is how far the exchanges of a run got with the answers. Answers that were sent are never
// given back but by the only exchange that carried them.
type evidence struct {
	exchanges int         // begun so far
	resumes   bool        // the one at hand carries answers
	connected atomic.Bool // there was a connection for it: bytes may have gone out
	before    int         // exchanges before it that may have gone out with answers
}

// begin begins the next exchange.
func (e *evidence) begin(resumes bool) {
	if e.resumes && e.connected.Load() {
		e.before++
	}
	e.exchanges++
	e.resumes = resumes
	e.connected.Store(false)
}

// sent says whether answers may have gone out.
func (e *evidence) sent() bool { return e.before > 0 || e.resumes && e.connected.Load() }

// onlyHere says that the exchange at hand carries the answers, and that none before it did.
func (e *evidence) onlyHere() bool { return e.resumes && e.before == 0 }

package proxy

import "fmt"

// A phase is the state of a client's stream. Only advance changes it.
type phase uint8

const (
	reading          phase = iota // an exchange is running
	betweenExchanges              // an exchange has ended, and the next one is about to be sent
	endSent                       // the client got the end of the run; later events of the backend are still read
	outputOver                    // no more output follows
)

// nextPhases lists, for each phase, the phases that may follow it. After the end of a run the
// stream is still read, because a backend may begin another run in it, and a late RUN_ERROR ends
// the run again.
var nextPhases = [...][]phase{
	reading:          {betweenExchanges, endSent, outputOver},
	betweenExchanges: {reading, outputOver},
	endSent:          {reading, endSent, outputOver},
	outputOver:       {outputOver},
}

// advance changes the phase. If moves does not list the change, that is a bug: advance panics, and
// the run ends (see body.fillGuarded).
func (p *phase) advance(to phase) {
	for _, may := range nextPhases[*p] {
		if may == to {
			*p = to
			return
		}
	}
	panic(fmt.Sprintf("proxy: a stream goes from phase %d to %d", *p, to))
}

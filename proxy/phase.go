package proxy

import "fmt"

// A phase is where a stream stands. Only advance changes it.
type phase uint8

const (
	reading phase = iota // an exchange is under way
	between              // it has ended, and the next one is to be sent
	ended                // the run's end was told; what else the backend says is looked at
	over                 // nothing follows what is made already
)

// moves are the phases that may follow each. A run that has ended is read on, for a backend may
// begin another one in the same stream; a late RUN_ERROR ends it again.
var moves = [...][]phase{
	reading: {between, ended, over},
	between: {reading, over},
	ended:   {reading, ended, over},
	over:    {over},
}

// advance moves on. A move that is not one of moves is a bug, and panics: it ends the run, see
// body.guarded.
func (p *phase) advance(to phase) {
	for _, may := range moves[*p] {
		if may == to {
			*p = to
			return
		}
	}
	panic(fmt.Sprintf("proxy: a stream goes from phase %d to %d", *p, to))
}

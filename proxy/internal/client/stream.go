package client

// A Stream is the state that decides how the next event is sent to a client. It consists of the
// entry of the client's library, the ids of the results that the client got, and the ends of
// subagents that are held back. It changes with each event. Only one goroutine may use it.
type Stream struct {
	Rewriter
	ResultIDs
	Subagents
}

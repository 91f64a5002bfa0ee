package client

// A Stream is the stream that a client gets, with what decides about its next event: the line of
// the client, the results that it was told, and the ends that wait. It changes with each event and
// is for one goroutine.
type Stream struct {
	Rewriter
	ResultIDs
	Subagents
}

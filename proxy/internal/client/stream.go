package client

// A Stream has the state that decides how the next event is sent to a client: the client's entry in
// the table, the ids of the results that it got, and the subagent ends that are held back. It
// changes with each event and is used by one goroutine.
type Stream struct {
	Rewriter
	ResultIDs
	Subagents
}

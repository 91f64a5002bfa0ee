package proxy

import (
	"io"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/settle"
	"holdpoint/translate"
)

// An answer is what came of an exchange: a stream, or why there is none and what the dialect is
// told then.
type answer struct {
	stream  io.ReadCloser
	framing translate.Framing // Unread: AG-UI
	end     settle.End        // where stream is nil
}

// A conclusion is what comes of it.
type conclusion struct {
	events []agui.Event // what the client is to be told now
	next   bool         // the next exchange of the run is ready to be sent
	said   bool         // the dialect, or the store, has said something of this end
}

package proxy

import (
	"io"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// An answer is what came of an exchange: a stream, or why there is none and what the dialect is
// told then.
type answer struct {
	stream  io.ReadCloser
	framing translate.Framing // Unread: AG-UI
	end     ending            // where stream is nil
}

// An ending is how an exchange came to its end, by whatever way.
type ending struct {
	translate.End
	broken *agui.RunError // what to tell if the backend gave no end of its own; nil: UPSTREAM_EOF
	inner  translate.Fate // what another Holdpoint said of it, see isRefusal
	known  bool           // another Holdpoint said what became of the answers
}

// A conclusion is what comes of it.
type conclusion struct {
	events []agui.Event // what the client is to be told now
	next   bool         // the next exchange of the run is ready to be sent
	said   bool         // the dialect, or the store, has said something of this end
}

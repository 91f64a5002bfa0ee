package translate

import "holdpoint/internal/agui"

// A Foreign is a Dialect whose backend does not speak AG-UI. It is always named, for auto reads AG-UI only. Its
// Begin always says what to send, and every Run of its is a Decoder.
type Foreign interface {
	Dialect
	// Route says which of the agent's places path is: a route under which the records of its threads are kept, the same for
	// every spelling of one place and for every path by which one thread can be reached. path has a leading slash, is in
	// lower case, and holds no doubled slash. ok is false where the agent is not: everything passes there. At a place of the
	// agent a POST that is no RunAgentInput is refused, for the backend's own requests could answer what nobody was asked.
	Route(path string) (route string, ok bool)
}

// A Decoder is the Run of an exchange with a backend that does not speak AG-UI: it makes events of the backend's answer.
// What Decode emits goes to Run.Event, or to Run.End if it is terminal, like the events of an AG-UI stream. RUN_STARTED is
// proxy's.
type Decoder interface {
	Run
	// Framing says how a 2xx answer of a media type (in lower case, without parameters, "" if none is declared) is cut into
	// pieces. Run.End gets the status and the start of the body of one that is Unread.
	Framing(mediaType string) Framing
	// Decode is called for each piece, in order, until the stream or the run has ended. What it does not understand it
	// passes over. An error ends the client's run.
	Decode(p Piece, emit func(agui.Event)) error
}

// Framing is how an answer is cut into pieces.
type Framing int

const (
	// Unread: the answer is none that the decoder knows.
	Unread Framing = iota
	// Frames of an event stream, those with data; [DONE] is one. Comments go to the client as they are.
	Frames
	// Lines, each without its end (LF or CRLF), those that hold more than white space. The last one may lack its end if the
	// answer ended cleanly.
	Lines
	// Text as it comes, in whole UTF-8 characters.
	Text
	// Whole: the body is one piece, at the end.
	Whole
)

// A Piece is what a Decoder is fed. It is valid during the call, and holds at most HOLDPOINT_MAX_FRAME_BYTES.
type Piece struct {
	Name []byte // the event field of a frame; nil without one
	Data []byte // a frame's data lines joined by LF; else the line, the text or the body
}

package translate

import "holdpoint/internal/agui"

// A Foreign is a Dialect whose backend does not speak AG-UI. The operator always names it, because
// auto reads AG-UI only. Its Begin always says what to send, and every Run of it is a Decoder.
type Foreign interface {
	Dialect
	// Route says which of the agent's places path is. It returns the route under which the records
	// of the threads there are kept. The route is the same for every spelling of one place, and for
	// every path by which one thread can be reached. path has a leading slash, is in lower case,
	// and holds no doubled slash.
	//
	// ok is false if the agent is not at path. Everything passes there, unless a Guard refuses it.
	// At a place of the agent proxy refuses a POST that is not a RunAgentInput, because the
	// backend's own requests could answer what nobody was asked.
	Route(path string) (route string, ok bool)
}

// A Guard is a Foreign whose backend takes other requests than runs, and lets a client change, stop
// or read by them what others do. proxy asks it about every request but a preflight.
type Guard interface {
	Foreign
	// Refusal returns why a request must not reach the backend, "" if it may. It is pure.
	Refusal(l RequestLine) (why string)
}

// A RequestLine is what a client asks of a backend.
type RequestLine struct {
	Method string
	Path   string // as the client wrote it, with its escapes and a leading slash
	Query  string // as the client wrote it
	// Run says that the body is a RunAgentInput at the agent's place. The dialect then makes out
	// method and path itself, but the query goes with its requests.
	Run bool
}

// A Decoder is the Run of an exchange with a backend that does not speak AG-UI. It makes events of
// the backend's answer. What Decode emits goes to Run.Event, or to Run.End if it is terminal, like
// the events of an AG-UI stream. proxy makes RUN_STARTED.
type Decoder interface {
	Run
	// Framing says how a 2xx answer of a media type is cut into pieces. The type is in lower case,
	// without parameters, and "" if none is declared. For an answer that is Unread, Run.End gets
	// the status and the start of the body.
	Framing(mediaType string) Framing
	// Decode is called for each piece, in order, until the stream or the run has ended. It passes
	// over what it does not understand. An error ends the client's run.
	Decode(p Piece, emit func(agui.Event)) error
}

// Framing is how an answer is cut into pieces.
type Framing int

const (
	// Unread: the decoder does not know such an answer.
	Unread Framing = iota
	// Frames of an event stream, if they have data. [DONE] is one. Comments go to the client as
	// they are.
	Frames
	// Lines without their ends (LF or CRLF), if they hold more than white space. The last one may
	// lack its end if the answer ended cleanly.
	Lines
	// Text as it comes, in whole UTF-8 characters.
	Text
	// Whole: the body is one piece, at the end.
	Whole
)

// A Piece is what a Decoder gets. It is valid during the call, and holds at most
// HOLDPOINT_MAX_FRAME_BYTES.
type Piece struct {
	Name []byte // the event field of a frame; nil without one
	Data []byte // a frame's data lines joined by LF; else the line, the text or the body
}

package translate

import "holdpoint/internal/agui"

// A Foreign is a Dialect whose backend does not speak AG-UI. The operator always selects it by
// name, because auto detects AG-UI only. Its Begin never sends the client's request unchanged, and
// every Run of it is a Decoder.
type Foreign interface {
	Dialect
	// Route reports whether the agent is at path, and returns the route under which the records of its
	// threads are stored. The route is the same for every spelling of a place, and for every path that
	// leads to one thread. path has a leading slash, is in lower case, and has no double slash.
	//
	// If ok is false, the agent is not at path, and proxy passes every request there unless a Guard
	// refuses it. At a place of the agent, proxy refuses a POST that is not a RunAgentInput, because
	// the backend's own requests could answer a question that nobody was asked.
	Route(path string) (route string, ok bool)
}

// A Guard is a Foreign whose backend accepts other requests than runs, by which a client could
// change, stop or read the runs of others. proxy calls it for every request except a preflight.
type Guard interface {
	Foreign
	// Refusal returns why a request must not reach the backend, or "" if it may. It is pure.
	Refusal(l RequestLine) (why string)
}

// A RequestLine is the request line of a client's request.
type RequestLine struct {
	Method string
	Path   string // as the client sent it, with its escapes and a leading slash
	Query  string // as the client sent it
	// Run reports that the body is a RunAgentInput at the agent's place. The dialect replaces method
	// and path then, but keeps the query.
	Run bool
}

// A Decoder is the Run of an exchange with a backend that does not speak AG-UI. Decode makes AG-UI
// events from the backend's answer. proxy passes each of them to Run.Event, or to Run.End if it is
// terminal, like the events of an AG-UI stream. proxy makes RUN_STARTED.
type Decoder interface {
	Run
	// Framing returns how a 2xx answer of a media type is cut into pieces. mediaType is in lower case,
	// without parameters, and "" if the answer declares none. If the result is Unread, Run.End gets
	// the status and the start of the body.
	Framing(mediaType string) Framing
	// Decode translates one piece. proxy calls it for each piece in order until the stream or the run
	// has ended. It ignores a piece that it does not understand. An error ends the client's run.
	Decode(p Piece, emit func(agui.Event)) error
}

// Framing is the way in which an answer is cut into pieces.
type Framing int

const (
	// Unread: the decoder cannot read such an answer.
	Unread Framing = iota
	// Frames of an event stream that have data, including [DONE]. Comments are sent to the client
	// unchanged.
	Frames
	// Lines without their ends (LF or CRLF), if they have more than white space. The last line may
	// lack its end if the answer ended cleanly.
	Lines
	// Text as it is received, in whole UTF-8 characters.
	Text
	// Whole: the body is one piece, at the end.
	Whole
)

// A Piece is a part of an answer, the input of a Decoder. It is valid during the call, and has at
// most HOLDPOINT_MAX_FRAME_BYTES.
type Piece struct {
	Name []byte // the event field of a frame, or nil
	Data []byte // a frame's data lines joined by LF; or the line, the text or the body
}

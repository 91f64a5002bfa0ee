package translate

import "holdpoint/internal/agui"

// A Foreign is a Dialect whose backend does not speak AG-UI. The operator must select it by name,
// because auto detects only backends that speak AG-UI. Its Begin never sends the client's request
// unchanged. Each of its Runs is a Decoder.
type Foreign interface {
	Dialect
	// Route reports whether the agent is at path, and returns the route under which the records of
	// its threads are stored. All paths that lead to the same threads have the same route, however
	// they are spelled. The parameter path has a leading slash, is in lower case, and has no double
	// slash.
	//
	// If ok is false, the agent is not at path. The package proxy then forwards every request to
	// that path, unless a Guard refuses it. At the agent's path it refuses a POST that is not a
	// RunAgentInput, because one of the backend's own requests could answer a question that the
	// client was not asked.
	Route(path string) (route string, ok bool)
}

// A Guard is a Foreign whose backend accepts requests that are not runs. With such a request a
// client could change, stop or read the runs of others. The package proxy calls the Guard for every
// request except a CORS preflight.
type Guard interface {
	Foreign
	// Refusal returns the reason why the request must not reach the backend, or "" if it may. It is
	// pure.
	Refusal(l RequestLine) (why string)
}

// A RequestLine describes a client's request without its body.
type RequestLine struct {
	Method string
	Path   string // as the client sent it, with its escapes and a leading slash
	Query  string // as the client sent it
	// Run is true if the body is a RunAgentInput and the path is the agent's. The dialect then
	// replaces the method and the path of the request, but keeps the query.
	Run bool
}

// A Decoder is the Run of an exchange with a backend that does not speak AG-UI. Its method Decode
// makes AG-UI events from the backend's response. The package proxy passes each of these events to
// Run.Event, or to Run.End if it is terminal, as it does with the events of an AG-UI stream. The
// package proxy makes RUN_STARTED itself.
type Decoder interface {
	Run
	// Framing returns how a 2xx response with this media type is cut into pieces. The parameter
	// mediaType is in lower case and without parameters. It is "" if the response declares none. If
	// Framing returns Unread, Run.End gets the status and the start of the body.
	Framing(mediaType string) Framing
	// Decode translates one piece. The package proxy calls it for each piece in order, until the
	// stream or the run has ended. Decode ignores a piece that it does not understand. An error
	// ends the client's run.
	Decode(p Piece, emit func(agui.Event)) error
}

// A Framing is a way to cut a response into pieces.
type Framing int

const (
	// Unread means that the decoder cannot read such a response.
	Unread Framing = iota
	// Frames are the frames of an event stream that have data, including [DONE]. Comments of the
	// stream are sent to the client unchanged.
	Frames
	// Lines are lines without their line ends (LF or CRLF). Lines with only white space are left
	// out. The last line may lack its line end if the response ended cleanly.
	Lines
	// Text is cut as it is received, but only between UTF-8 characters.
	Text
	// Whole means that the body is one piece, which is complete when the response ends.
	Whole
)

// A Piece is a part of a response, for Decoder.Decode. It is valid only during the call. It has at
// most HOLDPOINT_MAX_FRAME_BYTES bytes.
type Piece struct {
	Name []byte // the field "event" of a frame, or nil
	Data []byte // the data lines of a frame, joined by LF; or the line, the text or the body
}

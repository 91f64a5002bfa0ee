package proxy_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"

	"github.com/tidwall/gjson"

	golden "holdpoint/internal/scenario"
)

// A delivery is a way in which the bytes of the backend arrive. If hops is false, they come through
// a RoundTripper, and each Read returns exactly one piece. If hops is true, they come through two
// real HTTP connections.
type delivery struct {
	name  string
	hops  bool
	gzip  bool
	beats bool                       // a comment follows every frame
	frame func(stream []byte) []byte // rewrites the stream; nil: unchanged
	piece func(left []byte) int      // returns the length of the next piece; nil: all of left
}

// deliveries returns the deliveries with which each scenario is played. With -update, the first
// delivery writes the want parts.
func deliveries() []delivery {
	one := func([]byte) int { return 1 }
	list := []delivery{
		{name: "two hops", hops: true},
		{name: "two hops, frame by frame", hops: true, piece: oneFrame},
		{name: "two hops, gzip", hops: true, gzip: true},
		{name: "one byte at a time", piece: one},
		{name: "CRLF, one byte at a time", piece: one, frame: lineEnd("\r\n")},
		{name: "CR, one byte at a time", piece: one, frame: lineEnd("\r")},
		{name: "heartbeats", piece: oneFrame, frame: withBeats, beats: true},
	}
	for seed := range uint64(2) {
		r := rand.New(rand.NewPCG(seed, 0))
		list = append(list, delivery{name: fmt.Sprintf("partition %d", seed), piece: func([]byte) int { return 1 + r.IntN(1<<r.IntN(12)) }})
	}
	return list
}

func lineEnd(end string) func([]byte) []byte {
	return func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\n"), []byte(end)) }
}

var blank, beat = []byte("\n\n"), []byte(": beat\n\n")

func oneFrame(left []byte) int {
	if i := bytes.Index(left, blank); i >= 0 {
		return i + len(blank)
	}
	return len(left)
}

func withBeats(b []byte) []byte {
	return bytes.ReplaceAll(b, blank, append(bytes.Clone(blank), beat...))
}

// A backend sends the responses that are parts of a scenario, and keeps the requests that it gets.
// For the second exchange of turn N, the parts are N.upstream-2.sse and N.upstream-2.json.
type backend struct {
	s    scenario
	d    delivery
	turn int
	sent [][]byte
	head [][]byte // the head of each request, see headOf
	over bool     // more requests came than the turn has responses
	// says, if not nil, returns the response to send instead of file.
	says func(turn, exchange int, file []byte) []byte

	streamed bool // a response was a stream with more than one frame
}

func (b *backend) begin(turn int) {
	b.turn, b.sent, b.head, b.over, b.streamed = turn, nil, nil, false, false
}

// complaints returns a complaint if the backend got a wrong number of requests in the turn. got is
// the response that the client got.
func (b *backend) complaints(turn int, got []byte) (list []string) {
	has := len(b.s.Answers(turn))
	if b.over {
		list = append(list, fmt.Sprintf("the backend was called %d times and must be %d times:\n%s", len(b.sent), has, b.sent[len(b.sent)-1]))
	} else if len(b.sent) < has {
		list = append(list, fmt.Sprintf("exchange %d never reached the backend%s", len(b.sent)+1, refusalOf(got)))
	}
	return list
}

// refusalOf returns the code and the detail of the refusal in a stream, as the end of a sentence.
// If the stream contains no refusal, it returns "".
func refusalOf(stream []byte) string {
	frames, _ := split(string(stream))
	for _, frame := range frames {
		data, _ := dataOf(frame)
		if r := gjson.Get(data, "metadata.holdpoint.refusal"); r.Exists() {
			return fmt.Sprintf(": Holdpoint refused the run: %s, %s", r.Get("code").Str, r.Get("detail").Str)
		}
		if gjson.Get(data, "type").Str == "RUN_ERROR" {
			return fmt.Sprintf(": the run ended in RUN_ERROR: %s, %s", gjson.Get(data, "code").Str, gjson.Get(data, "message").Str)
		}
	}
	return ""
}

// answer records the request r, and returns the part of the scenario with its response. It returns
// false if the turn has no more responses.
func (b *backend) answer(r *http.Request) ([]byte, bool) {
	body, _ := io.ReadAll(r.Body)
	b.sent, b.head = append(b.sent, body), append(b.head, headOf(r))
	streams := b.s.Answers(b.turn)
	if len(b.sent) > len(streams) {
		b.over = true
		return nil, false
	}
	stream := streams[len(b.sent)-1]
	if b.says != nil {
		stream = b.says(b.turn, len(b.sent), stream)
	}
	b.streamed = b.streamed || bytes.Count(stream, blank) > 1 && !bytes.HasPrefix(stream, []byte("HTTP "))
	return stream, true
}

// pieces cuts a stream into the pieces in which the delivery sends it. cut is true if the
// connection must break after the last piece.
func (d delivery) pieces(stream []byte) (list [][]byte, cut bool) {
	stream, cut = bytes.CutSuffix(stream, []byte(golden.Cut))
	if d.frame != nil {
		stream = d.frame(stream)
	}
	for len(stream) > 0 {
		n := len(stream)
		if d.piece != nil {
			n = min(n, d.piece(stream))
		}
		list = append(list, stream[:n])
		stream = stream[n:]
	}
	return list, cut
}

// ServeHTTP serves the backend over a socket.
func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	stream, ok := b.answer(r)
	if !ok {
		w.WriteHeader(http.StatusTeapot)
		return
	}
	status, header, body, plain := plainAnswer(stream)
	if plain && status != http.StatusOK {
		for k, v := range header {
			w.Header()[k] = v
		}
		w.WriteHeader(status)
		w.Write(body)
		return
	}
	pieces, cut := b.d.pieces(stream)
	w.Header().Set("Content-Type", "text/event-stream")
	if plain {
		pieces, cut = b.d.foreignPieces(header.Get("Content-Type"), body)
		w.Header().Set("Content-Type", header.Get("Content-Type"))
	}
	var out io.Writer = w
	if b.d.gzip {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		defer z.Close()
		out = z
	}
	control := http.NewResponseController(w)
	for _, p := range pieces {
		out.Write(p)
		if z, ok := out.(*gzip.Writer); ok {
			z.Flush()
		}
		control.Flush()
	}
	if cut {
		control.Flush()
		panic(http.ErrAbortHandler)
	}
}

// RoundTrip serves the backend without a socket.
func (b *backend) RoundTrip(r *http.Request) (*http.Response, error) {
	if trace := httptrace.ContextClientTrace(r.Context()); trace != nil && trace.GotConn != nil {
		trace.GotConn(httptrace.GotConnInfo{}) // a real transport calls it before it sends bytes
	}
	res := &http.Response{
		StatusCode: http.StatusOK, ProtoMajor: 1, ProtoMinor: 1, Request: r, ContentLength: -1,
		Header: http.Header{"Content-Type": {"text/event-stream"}},
	}
	stream, ok := b.answer(r)
	status, header, body, plain := plainAnswer(stream)
	if plain && status != http.StatusOK {
		res.StatusCode, res.Header, res.Body = status, header, io.NopCloser(bytes.NewReader(body))
		return res, nil
	}
	if !ok {
		res.StatusCode = http.StatusTeapot
	}
	pieces, cut := b.d.pieces(stream)
	if plain {
		pieces, cut = b.d.foreignPieces(header.Get("Content-Type"), body)
		res.Header = header
	}
	res.Body = &pieceReader{pieces, cut}
	return res, nil
}

type pieceReader struct {
	pieces [][]byte
	cut    bool
}

func (p *pieceReader) Read(b []byte) (int, error) {
	switch {
	case len(p.pieces) > 0:
	case p.cut:
		return 0, io.ErrUnexpectedEOF
	default:
		return 0, io.EOF
	}
	n := copy(b, p.pieces[0])
	if p.pieces[0] = p.pieces[0][n:]; len(p.pieces[0]) == 0 {
		p.pieces = p.pieces[1:]
	}
	return n, nil
}

func (p *pieceReader) Close() error { return nil }

// plainAnswer parses a response that is not a stream of AG-UI. Such a part of a scenario has a line
// like "HTTP 429", then header lines, an empty line and the body.
func plainAnswer(part []byte) (status int, header http.Header, body []byte, ok bool) {
	r := golden.ReadAnswer(part)
	if r.Header == nil {
		return 0, nil, nil, false
	}
	if body = r.Body; r.Cut {
		body = append(body, golden.Cut...)
	}
	return r.Status, r.Header, body, true
}

// httpAnswer returns a response in the form that plainAnswer parses. It keeps only the headers
// Content-Type, Retry-After and WWW-Authenticate.
func httpAnswer(res *http.Response, body []byte) []byte {
	b := fmt.Appendf(nil, "HTTP %d\n", res.StatusCode)
	for _, k := range []string{"Content-Type", "Retry-After", "WWW-Authenticate"} {
		if v := res.Header.Get(k); v != "" {
			b = fmt.Appendf(b, "%s: %s\n", k, v)
		}
	}
	return append(append(b, '\n'), body...)
}

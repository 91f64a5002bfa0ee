package stream

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"unicode/utf8"

	"holdpoint/internal/build/poison"
	"holdpoint/internal/sse"
	"holdpoint/translate"
)

// pieceBuffer is the size of the buffer for a stream of lines or of text, in bytes.
const pieceBuffer = 16 << 10

// maxKeptLine is the size of the largest buffer that is kept for the next long line, in bytes.
const maxKeptLine = 128 << 10

// Pieces cut the response of a backend that does not speak AG-UI into the pieces that its dialect
// decodes (translate.Framing). Only one goroutine may use them.
type Pieces interface {
	// Next returns the next piece, and the comments that precede it in the stream. The comments are
	// passed to the client unchanged. If a piece has no Data, the decoder does not get it. Both
	// results are valid until the next call. The error is io.EOF, an *sse.TooLargeError, or the
	// error of the source. It ends the stream.
	Next() (p translate.Piece, comments []byte, err error)
	// Ready reports whether the next call of Next returns without reading from the source.
	Ready() bool
}

// NewPieces returns the Pieces of src. max is the size of the largest piece in bytes. If framing is
// not Frames, Lines or Text, the whole body is one piece.
func NewPieces(src io.Reader, framing translate.Framing, max int) Pieces {
	switch framing {
	case translate.Frames:
		return &framePieces{r: sse.NewReader(src, max)}
	case translate.Lines:
		return &linePieces{r: bufio.NewReaderSize(src, pieceBuffer), max: max}
	case translate.Text:
		return &textPieces{src: src, buf: make([]byte, pieceBuffer)}
	}
	return &wholePiece{src: src, max: max}
}

// framePieces cuts an event stream into its frames, one piece for each frame.
type framePieces struct {
	r        *sse.Reader
	comments []byte
}

func (f *framePieces) Next() (p translate.Piece, comments []byte, err error) {
	frame, err := f.r.Next()
	if err != nil && (len(frame.Raw) == 0 || !errors.Is(err, io.EOF)) {
		return p, nil, err
	}
	poison.Bytes(f.comments)
	f.comments = frame.AppendComments(f.comments[:0])
	if data, ok := frame.Data(nil); ok {
		p = translate.Piece{Name: frame.Name(), Data: data}
	}
	return p, f.comments, nil // the next call returns the end of the stream
}

func (f *framePieces) Ready() bool { return f.r.Ready() }

// linePieces cuts a stream into lines, as in NDJSON, one piece for each line.
type linePieces struct {
	r    *bufio.Reader
	max  int
	long []byte // buffer for a line that does not fit into the buffer of r
	last []byte // the piece that was returned last
	err  error
}

func (l *linePieces) Next() (p translate.Piece, comments []byte, err error) {
	if l.err != nil {
		return p, nil, l.err
	}
	poison.Bytes(l.last)
	l.last = nil
	line, err := l.r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		line, err = l.readLong(line)
	}
	l.err = err
	if len(bytes.TrimSuffix(line, []byte("\n"))) > l.max {
		l.err = &sse.TooLargeError{Max: l.max}
	}
	if l.err != nil && !errors.Is(l.err, io.EOF) {
		l.long = nil
		return p, nil, l.err
	}
	line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
	if len(bytes.TrimSpace(line)) > 0 {
		p.Data, l.last = line, line
	}
	return p, nil, nil
}

// readLong reads the rest of a long line whose first bytes are begin. It stops when the line is
// longer than the largest permitted length.
func (l *linePieces) readLong(begin []byte) (line []byte, err error) {
	if cap(l.long) > maxKeptLine {
		l.long = nil // do not keep a huge buffer: streams last for hours
	}
	l.long = append(l.long[:0], begin...)
	for err = bufio.ErrBufferFull; errors.Is(err, bufio.ErrBufferFull) && len(l.long) <= l.max+1; {
		var more []byte
		more, err = l.r.ReadSlice('\n')
		l.long = append(l.long, more...)
	}
	return l.long, err
}

func (l *linePieces) Ready() bool {
	held, _ := l.r.Peek(l.r.Buffered())
	return l.err != nil || bytes.IndexByte(held, '\n') >= 0
}

// textPieces returns text as it arrives. It does not split a UTF-8 character between two pieces.
type textPieces struct {
	src  io.Reader
	buf  []byte
	held int // number of bytes in buf that belong to an incomplete character
	over int // index of these bytes in buf
	err  error
}

func (t *textPieces) Next() (p translate.Piece, comments []byte, err error) {
	if t.err != nil {
		return p, nil, t.err
	}
	poison.Bytes(t.buf[:t.over])
	copy(t.buf, t.buf[t.over:t.over+t.held])
	n, err := t.src.Read(t.buf[t.held:])
	text := t.buf[:t.held+n]
	t.err, t.held = err, 0
	if err == nil {
		t.held = beginning(text)
	}
	t.over = len(text) - t.held
	if p.Data = text[:t.over]; len(p.Data) == 0 {
		p.Data = nil
	}
	return p, nil, nil
}

// beginning returns how many bytes at the end of text belong to an incomplete character.
func beginning(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if c := text[len(text)-n]; utf8.RuneStart(c) {
			if utf8.FullRune(text[len(text)-n:]) {
				return 0
			}
			return n
		}
	}
	return 0
}

func (t *textPieces) Ready() bool { return t.err != nil }

// wholePiece returns the whole body as one piece.
type wholePiece struct {
	src  io.Reader
	max  int
	done bool
}

func (w *wholePiece) Next() (p translate.Piece, comments []byte, err error) {
	if w.done {
		return p, nil, io.EOF
	}
	w.done = true
	body, err := io.ReadAll(io.LimitReader(w.src, int64(w.max)+1))
	switch {
	case err != nil:
		return p, nil, err
	case len(body) > w.max:
		return p, nil, &sse.TooLargeError{Max: w.max}
	}
	return translate.Piece{Data: body}, nil, nil
}

func (w *wholePiece) Ready() bool { return w.done }

package proxy

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/stream"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

const (
	// peekBytes is how much of a body is looked at to see how it begins, up to maxPeekBytes of one
	// that declares its length.
	peekBytes, maxPeekBytes = 512, 4 << 10
	// eagerBytes is for how much of a declared length there is memory before it has come.
	eagerBytes = 128 << 10
	// bodyTimeout is for the body of a run: a slow one holds memory.
	bodyTimeout = 5 * time.Minute
)

// readRun reads a request as far as it takes to know whether it is a run. Only the body counts:
// many backends look neither at the method nor at the declared type. A body that is no run stays
// whole in req.Body.
func (h *Handler) readRun(w http.ResponseWriter, req *http.Request) (in agui.RunInput, isRun bool, err error) {
	if !hasBody(req) {
		return in, false, nil
	}
	for _, enc := range req.Header["Content-Encoding"] {
		if enc != "" {
			return in, false, unsupported("a request body with a Content-Encoding is not taken")
		}
	}
	t, err := readBodyType(req.Header)
	if err == nil && (t.charset == hidden || t.json && t.charset == otherText) {
		err = unsupported("a body in this charset is not taken: JSON must be UTF-8")
	}
	if err != nil {
		return in, false, err
	}
	body, object, err := h.readBody(w, req, t)
	if err != nil || body == nil {
		return in, false, err
	}
	if object {
		in, isRun, err = h.readObject(req, body, t)
	}
	if !isRun && err == nil && (t.form && runInForm(body) || t.parts && runInParts(body)) {
		err = errForm
	}
	if !isRun {
		req.Body = io.NopCloser(bytes.NewReader(body))
		req.ContentLength = int64(len(body))
	}
	return in, isRun, err
}

func hasBody(req *http.Request) bool {
	return req.Body != nil && req.Body != http.NoBody && req.ContentLength != 0
}

// readObject reads a body that begins as a JSON object.
func (h *Handler) readObject(req *http.Request, body []byte, t bodyType) (in agui.RunInput, isRun bool, err error) {
	switch {
	case agui.ObjectElsewhere(body) == agui.Elsewhere:
		return in, false, &requestError{http.StatusBadRequest, "a JSON body must be UTF-8 without a byte order mark"}
	case !t.charset.takes(body):
		return in, false, unsupported("a JSON body must be UTF-8")
	}
	object := body
	if !utf8.Valid(body) && (t.json || isObject(body)) {
		return in, false, &requestError{http.StatusBadRequest, "a JSON body must be valid UTF-8"}
	}
	in, isRun, err = agui.ParseInput(body)
	if errors.Is(err, agui.ErrNoJSON) {
		object, err = objectForSomebody(body), nil
		if object != nil {
			_, isRun, _ = agui.ParseInput(object)
		}
		if t.json || isRun || agui.TooDeep(body) {
			return in, false, &requestError{http.StatusBadRequest, "the body is not valid JSON, or nested too deep"}
		}
	}
	if err == nil && object != nil && (isRun || agui.HasMessages(object)) {
		err = checkKeys(object, &in)
	}
	switch {
	case err != nil:
		return in, isRun, &requestError{http.StatusBadRequest, err.Error()}
	case !isRun && object != nil:
		err = h.takenOutsideRun(object, req.URL.Path)
	}
	return in, isRun, err
}

// checkKeys refuses an object that has a key twice. The object is a run, or has messages, which is
// enough of one to some backends. What is read of it here would not be what the backend reads. in
// is what was read of a run. Adapters parse an answer in command.resume that is JSON text.
func checkKeys(object []byte, in *agui.RunInput) error {
	if err := agui.CheckKeys(object, agui.KeysOfRun); err != nil {
		return &agui.InputError{Reason: err.Error()}
	}
	if sent, ok := in.CommandResume(); ok {
		if err := kit.CheckText(gjson.ParseBytes(sent), agui.KeysOfAnswer); err != nil {
			return &agui.InputError{Reason: err.Error() + ", in the text of forwardedProps.command.resume"}
		}
	}
	return nil
}

// isObject reports whether a body that is not valid UTF-8 is an object to some reader: to one that
// takes any bytes for text, or to one that leaves out what is not valid. Jackson reads letters of
// two bytes (0xC1 0xB4 is a t), so its keys are not known here.
func isObject(body []byte) bool {
	for _, one := range [][]byte{body, bytes.ToValidUTF8(body, nil)} {
		if agui.ValidJSON(one) || objectForSomebody(one) != nil {
			return true
		}
	}
	return false
}

// takenOutsideRun says why an object that is no run must not pass all the same. It holds an
// approval in a backend's own form, and some endpoint behind Holdpoint may take that. Or it is less
// than a run to us, and enough of one to the backend.
func (h *Handler) takenOutsideRun(object []byte, path string) error {
	if h.decidesOutsideRun(object, path) {
		return &requestError{http.StatusBadRequest, "the messages hold an approval, and the body is no run (RunAgentInput)"}
	}
	taker, ok := h.opts.Dialect.(translate.Taker)
	if !ok {
		return nil
	}
	if why := taker.Takes(object, h.routeDialect(recordPath(path))); why != "" {
		return &requestError{http.StatusBadRequest, why}
	}
	return nil
}

// slow gives the body of a request bodyTimeout; done is called when it was read.
func (h *Handler) slow(w http.ResponseWriter) (done func()) {
	control := http.NewResponseController(w)
	cut := make(chan struct{})
	timer := time.AfterFunc(bodyTimeout, func() {
		defer close(cut)
		_ = control.SetReadDeadline(time.Now()) // it fails where there is no connection, as in tests
	})
	return func() {
		if !timer.Stop() {
			<-cut
			_ = control.SetReadDeadline(time.Time{}) // or it would end the next request on the same connection
		}
	}
}

// readBody reads all of a body that may be a run's, or a form's that could be a run. Else it
// returns nil and leaves the body as it was. object says that the body begins as a JSON object, or
// may.
func (h *Handler) readBody(w http.ResponseWriter, req *http.Request, t bodyType) (body []byte, object bool, err error) {
	defer h.slow(w)()
	hold := &bodyHold{room: h.bodyRoom, from: h.clientHash(req)}
	defer hold.giveBack()
	limit := h.opts.MaxRequestBytes
	head, first, err := readHead(req.Body, limit, req.ContentLength)
	if err != nil {
		return nil, false, err
	}
	object = first == '{' || agui.ObjectElsewhere(head) != agui.Plain
	if object || t.form {
		body, err = readRest(head, req.Body, limit, req.ContentLength, hold.most(), func(n int) error { return hold.take(req.Context(), int64(n)) })
		return body, object, err
	}
	req.Body = stream.Replay(head, req.Body)
	if t.parts {
		if runInParts(head) {
			return nil, false, errForm
		}
		req.Body = &formParts{ReadCloser: req.Body}
	}
	return nil, false, nil
}

// readHead reads until a byte is there that is not white space. It returns that byte, or 0 at the
// body's end. length is the declared length of the body, -1 if none was declared.
func readHead(r io.Reader, limit, length int64) (head []byte, first byte, err error) {
	peek := peekBytes
	if length >= 0 {
		peek = int(min(max(length+1, 4), maxPeekBytes))
	}
	for int64(len(head)) <= limit {
		n := len(head)
		head = slices.Grow(head, peek)
		got, err := io.ReadAtLeast(r, head[n:n+peek], 4)
		head = head[:n+got]
		if i := bytes.TrimLeft(head[n:], " \t\r\n"); len(i) > 0 {
			return head, i[0], nil
		}
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return head, 0, nil
		}
		if err != nil {
			return nil, 0, err
		}
	}
	return nil, 0, tooLarge()
}

// readRest reads what follows the head, which becomes a part of it. take is asked for memory,
// and gives most bytes to one body. A body that needs more than smallBody asks once, for all that
// it may need: of several large bodies that each had a part, none could go on.
func readRest(body []byte, r io.Reader, limit, length, most int64, take func(n int) error) ([]byte, error) {
	taken := len(body)
	for int64(len(body)) <= limit {
		if len(body) == cap(body) {
			more := min(room(len(body), length), int(limit)+2-len(body))
			if need := len(body) + more; need > taken {
				if need > smallBody {
					need = max(need, int(mayNeed(limit, length, most)))
				}
				if err := take(need - taken); err != nil {
					return nil, err
				}
				taken = need
			}
			body = slices.Grow(body, more)
		}
		n, err := r.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case err == io.EOF && int64(len(body)) <= limit:
			return body, nil
		case err != nil && err != io.EOF:
			return nil, err
		}
	}
	return nil, tooLarge()
}

// mayNeed returns the most bytes that a body needs: what it declares, or the limit if it declares
// nothing. It is one byte more, where the body's end shows.
func mayNeed(limit, length, most int64) int64 {
	switch {
	case length < 0:
		return min(limit+2, most)
	case length > limit:
		return limit + 2
	}
	return length + 1
}

// room is how many more bytes than size there should be memory for. Memory is taken as the body
// comes: a client that declares much and sends nothing gets little.
func room(size int, length int64) int {
	left := length + 1 - int64(size) // one byte more, where the body's end shows
	if left <= 0 {
		return max(size, peekBytes)
	}
	return int(min(left, int64(max(3*size, eagerBytes))))
}

func tooLarge() error {
	return &requestError{http.StatusRequestEntityTooLarge, "the body exceeds the limit (HOLDPOINT_MAX_REQUEST_BYTES)"}
}

// objectForSomebody is the object that some backend finds in a body that is not valid JSON, nil if
// no backend does. Python's json.loads takes NaN, Infinity and -Infinity for numbers, and Go's
// json.Decoder reads the first value and leaves the rest. A run in such a body is refused.
func objectForSomebody(body []byte) []byte {
	var first json.RawMessage
	if json.NewDecoder(bytes.NewReader(withoutNaN(body))).Decode(&first) != nil {
		return nil
	}
	return first
}

// withoutNaN has a 0 for each of Python's words for numbers.
func withoutNaN(body []byte) []byte {
	var out []byte
	inString := false
	for i := 0; i < len(body); i++ {
		c := body[i]
		switch {
		case inString && c == '\\' && i+1 < len(body):
			out = append(out, c)
			i++
			c = body[i]
		case c == '"':
			inString = !inString
		case !inString:
			if n := pythonNumber(body[i:]); n > 0 {
				out = append(out, '0')
				i += n - 1
				continue
			}
		}
		out = append(out, c)
	}
	return out
}

func pythonNumber(b []byte) int {
	for _, word := range []string{"NaN", "Infinity", "-Infinity"} {
		if bytes.HasPrefix(b, []byte(word)) {
			return len(word)
		}
	}
	return 0
}

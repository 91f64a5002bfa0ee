package intake

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/stream"
)

const (
	// peekBytes is the number of bytes that are read at once to find the first byte of a body that
	// is not white space. maxPeekBytes is the largest such number for a body that declares its
	// length.
	peekBytes, maxPeekBytes = 512, 4 << 10
	// eagerBytes is the number of bytes that are reserved at first for a body that declares its
	// length. The rest is reserved as the body arrives.
	eagerBytes = 128 << 10
	// BodyTimeout limits the time for reading a body that may be a run, because a body that arrives
	// slowly occupies memory.
	BodyTimeout = 5 * time.Minute
)

// readRun reads a request until it is known whether the request is a run. Only the body decides
// this, because many backends check neither the method nor the declared type. If the body is not a
// run, req.Body still contains all of it. err is a *Refusal, or an error of reading.
func (t *Intake) readRun(control *http.ResponseController, req *http.Request) (in agui.RunInput, isRun bool, err error) {
	if !HasBody(req) {
		return in, false, nil
	}
	for _, enc := range req.Header["Content-Encoding"] {
		if enc != "" {
			return in, false, unsupportedBody(textEncoded)
		}
	}
	as, err := readBodyType(req.Header)
	if err == nil && (as.charset == hidden || as.json && as.charset == otherText) {
		err = unsupportedBody(textCharset)
	}
	if err != nil {
		return in, false, err
	}
	body, object, err := t.readBody(control, req, as)
	if err != nil || body == nil {
		return in, false, err
	}
	if object {
		in, isRun, err = t.readObject(req, body, as)
	}
	if !isRun && err == nil && (as.form && runInForm(body) || as.parts && runInParts(body)) {
		err = errForm
	}
	if !isRun {
		req.Body = io.NopCloser(bytes.NewReader(body))
		req.ContentLength = int64(len(body))
	}
	return in, isRun, err
}

// HasBody reports whether a request has a body.
func HasBody(req *http.Request) bool {
	return req.Body != nil && req.Body != http.NoBody && req.ContentLength != 0
}

// limitBodyTime limits the time for reading the body of a request to BodyTimeout. The caller must
// call done after reading.
func limitBodyTime(control *http.ResponseController) (done func()) {
	cut := make(chan struct{})
	timer := time.AfterFunc(BodyTimeout, func() {
		defer close(cut)
		_ = control.SetReadDeadline(time.Now()) // fails if there is no connection, as in tests
	})
	return func() {
		if !timer.Stop() {
			<-cut
			// Without this, the old deadline would end the next request on the same connection.
			_ = control.SetReadDeadline(time.Time{})
		}
	}
}

// readBody reads a whole body if it may be a run, which means that it begins like a JSON object or
// is an urlencoded form. For any other body it returns nil, and req.Body still contains all of it.
// object reports whether the body begins like a JSON object.
func (t *Intake) readBody(control *http.ResponseController, req *http.Request, as bodyType) (body []byte, object bool, err error) {
	defer limitBodyTime(control)()
	hold := &bodyHold{room: t.Room, from: t.AddressHash(req)}
	defer hold.giveBack()
	head, first, err := readHead(req.Body, t.limit, req.ContentLength)
	if err != nil {
		return nil, false, err
	}
	object = first == '{' || agui.ObjectElsewhere(head) != agui.PlainEncoding
	if object || as.form {
		body, err = readRest(head, req.Body, t.limit, req.ContentLength, hold.maxBytes(), func(n int) error { return hold.reserve(req.Context(), int64(n)) })
		return body, object, err
	}
	req.Body = stream.Replay(head, req.Body)
	if as.parts {
		if runInParts(head) {
			return nil, false, errForm
		}
		req.Body = &formParts{ReadCloser: req.Body}
	}
	return nil, false, nil
}

// readHead reads until the first byte that is not white space. It returns all bytes that it has
// read, and that first byte, which is 0 if the body ends before. length is the declared length of
// the body, -1 if none was declared.
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

// readRest reads the rest of a body and appends it to the parameter body, which already contains
// the head. The function take reserves memory. The parameter most is the largest number of bytes
// that it grants to one body. A body that needs more than smallBody reserves at once all that it
// may need: if several large bodies each had only a part of their memory, none of them could
// continue.
func readRest(body []byte, r io.Reader, limit, length, most int64, take func(n int) error) ([]byte, error) {
	taken := len(body)
	for int64(len(body)) <= limit {
		if len(body) == cap(body) {
			more := min(growBy(len(body), length), int(limit)+2-len(body))
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

// mayNeed returns the largest number of bytes that a body may need. That is its declared length, or
// the limit if the body declares no length, and one byte more to notice the end of the body.
func mayNeed(limit, length, most int64) int64 {
	switch {
	case length < 0:
		return min(limit+2, most)
	case length > limit:
		return limit + 2
	}
	return length + 1
}

// growBy returns by how many bytes the buffer of a body is enlarged. size is the number of bytes
// that have arrived. The buffer grows as the body arrives, so a client that declares a large body
// and sends nothing gets little memory.
func growBy(size int, length int64) int {
	left := length + 1 - int64(size) // one byte more, to notice the end of the body
	if left <= 0 {
		return max(size, peekBytes)
	}
	return int(min(left, int64(max(3*size, eagerBytes))))
}

func tooLarge() error {
	return refuse(http.StatusRequestEntityTooLarge, textTooLarge)
}

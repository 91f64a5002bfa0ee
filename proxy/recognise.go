package proxy

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"
	"unicode"

	"holdpoint/internal/agui"
)

// peekBytes is how much of a body is looked at to see how it begins.
const peekBytes = 512

// A requestError is a request that is refused with an HTTP status before it is a run.
type requestError struct {
	status int
	reason string
}

func (e *requestError) Error() string { return e.reason }

// readRun reads a POST as far as it takes to know whether it is a run. The body counts, not its declared type, since
// many backends do not look at that either. What is no run is left in r.Body whole.
func (h *Handler) readRun(r *http.Request) (in agui.RunInput, isRun bool, err error) {
	if enc := r.Header.Get("Content-Encoding"); enc != "" {
		return in, false, &requestError{http.StatusUnsupportedMediaType, "a request body with a Content-Encoding is not taken"}
	}
	if r.Body == nil || r.Body == http.NoBody {
		return in, false, nil
	}
	if charset := declaredCharset(r); charset != "" {
		return in, false, &requestError{http.StatusUnsupportedMediaType, "a JSON body must be UTF-8"}
	}
	head, first, err := readHead(r.Body, h.opts.MaxRequestBytes)
	if err != nil {
		return in, false, err
	}
	rest := r.Body
	whole := struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), rest), rest}
	elsewhere := agui.ObjectElsewhere(head)
	if elsewhere == agui.Plain && first != '{' {
		r.Body = whole
		return in, false, nil
	}
	body, err := io.ReadAll(io.LimitReader(whole, h.opts.MaxRequestBytes+1))
	if err != nil {
		return in, false, err
	}
	if int64(len(body)) > h.opts.MaxRequestBytes {
		return in, false, tooLarge()
	}
	if elsewhere == agui.Undecided {
		elsewhere = agui.ObjectElsewhere(body)
	}
	if elsewhere == agui.Elsewhere {
		return in, false, &requestError{http.StatusBadRequest, "a JSON body must be UTF-8 without a byte order mark"}
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	if !agui.ValidJSON(body) {
		if declaresJSON(r) || agui.TooDeep(body) || runForSomebody(body) {
			return in, false, &requestError{http.StatusBadRequest, "the body is not valid JSON, or nested too deep"}
		}
		return in, false, nil
	}
	in, isRun, err = agui.ParseInput(body)
	if err != nil {
		return in, isRun, &requestError{http.StatusBadRequest, err.Error()}
	}
	if !isRun {
		return in, false, approvesOutsideRun(body)
	}
	return in, true, nil
}

// readHead reads until a byte that is not white space is there, and gives that byte; 0 if there is none.
func readHead(r io.Reader, limit int64) (head []byte, first byte, err error) {
	for int64(len(head)) <= limit {
		n := len(head)
		head = append(head, make([]byte, peekBytes)...)
		got, err := io.ReadAtLeast(r, head[n:], 4)
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

func tooLarge() error {
	return &requestError{http.StatusRequestEntityTooLarge, "the body exceeds the limit (HOLDPOINT_MAX_REQUEST_BYTES)"}
}

// declaresJSON says whether the request says that its body is JSON.
func declaresJSON(r *http.Request) bool {
	t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		t, _, _ = strings.Cut(r.Header.Get("Content-Type"), ";")
		t = strings.ToLower(strings.TrimSpace(t))
	}
	return t == "application/json" || strings.HasSuffix(t, "+json")
}

// declaredCharset is the charset that a JSON body is said to have, "" if none or one in which UTF-8 reads the same.
// express decodes UTF-7 and Spring EBCDIC when it is asked to; nothing of a run could be seen in either here.
func declaredCharset(r *http.Request) string {
	_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset := strings.ToLower(params["charset"])
	switch charset {
	case "utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1", "latin1":
		return ""
	}
	if err != nil || !declaresJSON(r) {
		return ""
	}
	return charset
}

// runForSomebody says whether body, which is no JSON, is a run for some backend all the same: Python's json.loads takes
// NaN, Infinity and -Infinity for numbers, and Go's json.Decoder reads the first value and leaves the rest. It is
// refused then like other input that must not be guessed at.
func runForSomebody(body []byte) bool {
	var first json.RawMessage
	if json.NewDecoder(bytes.NewReader(withoutNaN(body))).Decode(&first) != nil {
		return false
	}
	_, isRun, _ := agui.ParseInput(first)
	return isRun
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

// misleading says whether an escaped path holds what some backends read as another path: a segment . or .., escaped or
// not, or a control character (Starlette's ^/agent$ matches "/agent\n").
func misleading(escaped string) bool {
	if plain, err := url.PathUnescape(escaped); err == nil && strings.ContainsFunc(plain, unicode.IsControl) {
		return true
	}
	for segment := range strings.SplitSeq(escaped, "/") {
		plain, err := url.PathUnescape(segment)
		if err != nil {
			plain = segment
		}
		// A decoded slash or backslash splits a segment once more at many backends.
		for part := range strings.FieldsFuncSeq(plain, func(c rune) bool { return c == '/' || c == '\\' }) {
			if part == "." || part == ".." {
				return true
			}
		}
	}
	return false
}

// recordPath is the path as it goes into a record's key. Spellings that a backend may take for the same path have one
// record: doubled and closing slashes, percent-encoding, case.
func recordPath(p string) string {
	segments := strings.Split(p, "/")
	for i, s := range segments {
		segments[i], _, _ = strings.Cut(s, ";") // servlet containers route /chat;x as /chat
	}
	return strings.ToLower(path.Clean("/" + strings.Join(segments, "/")))
}

package doctor

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
)

// Read reads a recording: the body of a backend's answer, or the headers and the body as curl -i
// writes them. It returns the error of r only if nothing was read.
func Read(r io.Reader) (Answer, error) {
	body, cut, err := readBody(r)
	if err != nil && len(body) == 0 {
		return Answer{}, err
	}
	a := Answer{Body: body, Incomplete: cut}
	if !bytes.HasPrefix(body, []byte("HTTP/")) {
		return a, nil
	}
	head, rest, ok := bytes.Cut(body, []byte("\r\n\r\n"))
	if !ok {
		return a, nil
	}
	// curl writes HTTP/2, but net/http requires a version with a dot. The body follows the header
	// as plain bytes, because curl has already decoded chunked encoding.
	_, afterVersion, _ := bytes.Cut(head, []byte(" "))
	res, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(append(append([]byte("HTTP/1.1 "), afterVersion...), "\r\n\r\n"...))), nil)
	if err != nil {
		return a, nil
	}
	defer res.Body.Close() // the body of res is empty, because the recorded body is in rest
	a.Status, a.Header, a.Body = res.StatusCode, res.Header, rest
	return a.withoutGzip(), nil
}

// readBody reads at most MaxBytes bytes. cut reports that the body is longer or was broken off by
// an error. After an error it returns the bytes that were read before.
func readBody(r io.Reader) (body []byte, cut bool, err error) {
	body, err = io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if len(body) > MaxBytes {
		return body[:MaxBytes], true, nil
	}
	return body, err != nil && !errors.Is(err, io.EOF), err
}

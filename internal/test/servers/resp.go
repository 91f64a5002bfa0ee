//go:build unix

package servers

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// ask sends a Redis command over a new connection and returns the reply: a string, an int64, nil or
// a []any of these. If the reply is a Redis error, ask returns it as its error.
func ask(address string, encrypted bool, login []string, args ...string) (any, error) {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if encrypted {
		// The certificate is not verified here; the tests of the store do that.
		conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
	}
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return nil, err
	}
	r := bufio.NewReader(conn)
	if len(login) > 0 {
		if _, err := exchange(conn, r, append([]string{"AUTH"}, login...)); err != nil {
			return nil, err
		}
	}
	return exchange(conn, r, args)
}

func exchange(w io.Writer, r *bufio.Reader, args []string) (any, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, arg := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(arg), arg)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return nil, err
	}
	return reply(r)
}

func reply(r *bufio.Reader) (any, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return nil, err
	}
	line = strings.TrimRight(line, "\r\n")
	if line == "" {
		return nil, errors.New("redis: an empty line for a reply")
	}
	kind, rest := line[0], line[1:]
	switch kind {
	case '+':
		return rest, nil
	case '-':
		return nil, fmt.Errorf("redis: %s", rest)
	}
	n, err := strconv.ParseInt(rest, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("redis: reply %q: %w", line, err)
	}
	switch {
	case kind == ':':
		return n, nil
	case n < 0:
		return nil, nil
	case kind == '$':
		b := make([]byte, n+2)
		if _, err := io.ReadFull(r, b); err != nil {
			return nil, err
		}
		return string(b[:n]), nil
	case kind == '*':
		list := make([]any, n)
		for i := range list {
			if list[i], err = reply(r); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
	return nil, fmt.Errorf("redis: reply %q", line)
}

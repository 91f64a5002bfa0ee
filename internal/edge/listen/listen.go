// Package listen parses addresses to listen on, host:port or unix sockets, and listens on them.
//
// It does not accept connections, and does not handle TLS.
package listen

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// An Address is where a listener listens: host:port, or a unix socket.
type Address struct {
	text string // the text that Parse was given
	path string // the path of the socket, "" for host:port
	mode fs.FileMode
}

// Parse parses host:port, unix:///path, or unix:///path?mode=0660. mode sets the permissions of the
// socket. Without a mode, the umask of the process sets them.
func Parse(text string) (Address, error) {
	a := Address{text: text}
	if !strings.HasPrefix(text, "unix:") {
		return a, checkHostPort(text)
	}
	u, err := url.Parse(text)
	if err != nil || u.Host != "" || u.Opaque != "" || u.User != nil || u.Fragment != "" || u.Path == "" || strings.HasSuffix(u.Path, "/") {
		return a, errors.New(textWholePath)
	}
	a.path = filepath.FromSlash(u.Path)
	if len(a.path) > maxSocketPath {
		return a, fmt.Errorf(textPathTooLong, maxSocketPath)
	}
	values, err := url.ParseQuery(u.RawQuery)
	for name, list := range values {
		mode, wrong := strconv.ParseUint(list[0], 8, 32)
		if name != "mode" || len(list) != 1 || wrong != nil || mode == 0 || mode > 0o777 {
			err = errors.New(textOnlyMode)
			break
		}
		a.mode = fs.FileMode(mode)
	}
	if err != nil {
		return a, errors.New(textOnlyMode)
	}
	return a, nil
}

// maxSocketPath is the longest path of a socket that all systems accept. A zero byte follows the
// path, and on some systems the field sun_path has 104 bytes.
const maxSocketPath = 103

func checkHostPort(text string) error {
	_, port, err := net.SplitHostPort(text)
	if err != nil {
		if n, err := strconv.Atoi(text); err == nil && n >= 0 {
			return fmt.Errorf(textHostPort, n)
		}
		return errors.New(textHostPortOrSocket)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return fmt.Errorf(textPortRange, port)
	}
	return nil
}

// IsUnix reports whether the address is a unix socket.
func (a Address) IsUnix() bool { return a.path != "" }

// IsLoopback reports whether the address is a port that can be reached from this machine only.
func (a Address) IsLoopback() bool {
	host, _, err := net.SplitHostPort(a.text)
	return !a.IsUnix() && err == nil && (host == "localhost" || net.ParseIP(host).IsLoopback())
}

// Describe returns the address of the listener l, in the form that the log shows.
func (a Address) Describe(l net.Listener) string {
	if a.IsUnix() {
		return "unix://" + filepath.ToSlash(a.path)
	}
	return l.Addr().String()
}

// Listen listens on the address. If a dead process has left a unix socket at the address, Listen
// removes that socket first. If another process listens on the socket, Listen returns an error.
func (a Address) Listen() (net.Listener, error) {
	if !a.IsUnix() {
		return net.Listen("tcp", a.text)
	}
	if info, err := os.Lstat(a.path); err == nil && info.Mode().Type() == fs.ModeSocket {
		conn, err := net.DialTimeout("unix", a.path, time.Second)
		if err == nil {
			conn.Close()
			return nil, fmt.Errorf(textSocketTaken, a.path)
		}
		if errors.Is(err, syscall.ECONNREFUSED) {
			if err := os.Remove(a.path); err != nil {
				return nil, err
			}
		}
	}
	l, err := net.Listen("unix", a.path)
	if err != nil {
		return nil, err
	}
	if a.mode != 0 {
		if err := os.Chmod(a.path, a.mode); err != nil {
			l.Close()
			return nil, err
		}
	}
	return l, nil
}

// Dial connects to a listener at the address. If the host of the address means all interfaces, Dial
// connects to this machine.
func (a Address) Dial(ctx context.Context) (net.Conn, error) {
	if a.IsUnix() {
		return (&net.Dialer{}).DialContext(ctx, "unix", a.path)
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", a.text)
}

// IsFixed reports whether the address is the same at each start. An address with port 0 is not.
func (a Address) IsFixed() bool {
	_, port, err := net.SplitHostPort(a.text)
	return a.IsUnix() || err == nil && strings.TrimLeft(port, "0") != ""
}

// Overlaps reports whether the two addresses conflict, so that two listeners cannot use them at the
// same time.
func (a Address) Overlaps(b Address) bool {
	if a.IsUnix() || b.IsUnix() {
		return a.path == b.path
	}
	host, port, _ := net.SplitHostPort(a.text)
	otherHost, otherPort, _ := net.SplitHostPort(b.text)
	wide := func(host string) bool { return host == "" || net.ParseIP(host).IsUnspecified() }
	local := func(host string) bool { return host == "localhost" || net.ParseIP(host).IsLoopback() }
	return a.IsFixed() && port == otherPort && (wide(host) || wide(otherHost) || host == otherHost || local(host) && local(otherHost))
}

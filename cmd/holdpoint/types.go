package main

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// A size is a number of bytes, written as such or with a unit: 16777216, 16MiB, 8MB, 4Mi.
type size int64

// units of a size. If a unit ends in another one, it stands before that. Kubernetes writes Ki, Mi
// and Gi.
var units = []struct {
	name  string
	bytes int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30},
	{"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30},
	{"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9},
	{"B", 1},
}

// maxSize bounds a size so that it fits an int everywhere.
const maxSize = math.MaxInt32

// UnmarshalText reads a size. It takes no zero, because somebody would switch a bound off and
// forget it.
func (s *size) UnmarshalText(text []byte) error {
	number, factor := string(text), int64(1)
	for _, u := range units {
		if n, ok := strings.CutSuffix(number, u.name); ok {
			number, factor = strings.TrimRight(n, " "), u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange):
		return errors.New("not a size, want whole bytes or a unit such as 16MiB or 8MB")
	case err == nil && n < 1:
		return errors.New("must be at least 1 byte")
	case err != nil || n > maxSize/factor:
		return fmt.Errorf("must be at most %d bytes", maxSize)
	}
	*s = size(n * factor)
	return nil
}

// String is the size in the largest unit that divides it.
func (s size) String() string {
	for _, u := range []int{2, 1, 0} {
		if b := units[u].bytes; s != 0 && int64(s)%b == 0 {
			return strconv.FormatInt(int64(s)/b, 10) + units[u].name
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

// A percent is a share of something in hundredths, 1% to 100%.
type percent int

// UnmarshalText reads a percent.
func (p *percent) UnmarshalText(text []byte) error {
	number, ok := strings.CutSuffix(string(text), "%")
	n, err := strconv.Atoi(strings.TrimRight(number, " "))
	if !ok || err != nil || n < 1 || n > 100 {
		return errors.New("not a share, want 1% to 100%")
	}
	*p = percent(n)
	return nil
}

// String is the form that is read.
func (p percent) String() string { return strconv.Itoa(int(p)) + "%" }

// share is the number. All of it is 0, which means no bound.
func (p percent) share() int { return int(p) % 100 }

// An address is the backend's.
type address struct{ *url.URL }

// UnmarshalText reads an address.
func (a *address) UnmarshalText(text []byte) error {
	u, err := parseUpstream(string(text))
	*a = address{u}
	return err
}

// String is the address as logs may hold it.
func (a address) String() string { return shownURL(a.URL) }

// parseUpstream reads the backend's address. net/url's own errors hold the whole text, a password
// included, so they are not passed on.
func parseUpstream(v string) (*url.URL, error) {
	if strings.Count(v, "://") > 1 && strings.Contains(v, ",") {
		return nil, errors.New("want one address: each further agent is a route of its own (docs/routes.md)")
	}
	if !strings.Contains(v, "://") {
		return nil, errors.New("scheme missing, want http:// or https://")
	}
	u, err := url.Parse(v)
	switch {
	case err != nil:
		return nil, errors.New("not an address, want something like http://localhost:8000/agent")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("scheme %q is not supported, want http:// or https://", u.Scheme)
	case u.User != nil:
		return nil, errors.New("user and password do not belong here, put an Authorization line into HOLDPOINT_UPSTREAM_HEADERS_FILE")
	case u.Hostname() == "":
		return nil, errors.New("host missing, want something like http://localhost:8000/agent")
	case !validPort(u.Port()):
		return nil, fmt.Errorf("port %q is out of range, want 1 to 65535", u.Port())
	case u.Fragment != "" || strings.HasSuffix(v, "#"):
		return nil, errors.New("a fragment (#) never reaches a server, leave it out")
	}
	return u, nil
}

func validPort(p string) bool {
	n, err := strconv.Atoi(p)
	return p == "" || err == nil && n >= 1 && n <= 65535
}

// isOwn says whether the address is the one that this process listens on. Each run would then go
// round until the files run out. It does not know other names of this machine.
func isOwn(upstream *url.URL, listen string) bool {
	host, port, err := net.SplitHostPort(listen)
	if upstream == nil || err != nil || port == "0" || upstream.Port() != port {
		return false
	}
	up := upstream.Hostname()
	local := up == "localhost" || net.ParseIP(up).IsLoopback() || net.ParseIP(up).IsUnspecified()
	return up == host || local && (host == "" || host == "localhost" || net.ParseIP(host).IsLoopback() || net.ParseIP(host).IsUnspecified())
}

// shownURL is an address as logs may hold it: user info and the values of the query are cut.
func shownURL(u *url.URL) string {
	if u == nil {
		return ""
	}
	c := *u
	if c.User != nil {
		c.User = url.User("xxxxx")
	}
	if c.RawQuery != "" {
		pairs := strings.Split(c.RawQuery, "&")
		for i, p := range pairs {
			if name, _, ok := strings.Cut(p, "="); ok {
				pairs[i] = name + "=xxxxx"
			}
		}
		c.RawQuery = strings.Join(pairs, "&")
	}
	return c.String()
}

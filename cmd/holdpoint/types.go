package main

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"holdpoint/internal/variables"
)

// An address is the backend's.
type address struct{ *url.URL }

// UnmarshalText reads an address.
func (a *address) UnmarshalText(text []byte) error {
	u, err := parseUpstream(string(text))
	*a = address{u}
	return err
}

// String returns the address as logs may hold it.
func (a address) String() string { return variables.ShownURL(a.URL) }

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

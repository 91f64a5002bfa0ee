package main

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"holdpoint/internal/variables"
)

// An address is the URL of a backend.
type address struct{ *url.URL }

// UnmarshalText parses the URL of a backend.
func (a *address) UnmarshalText(text []byte) error {
	u, err := parseUpstream(string(text))
	*a = address{u}
	return err
}

// String returns the URL for logs: without the user, the password and the values of the query.
func (a address) String() string { return variables.ShownURL(a.URL) }

// parseUpstream parses the URL of a backend. It does not return the errors of net/url, because they
// quote the whole URL, including a password.
func parseUpstream(v string) (*url.URL, error) {
	if strings.Count(v, "://") > 1 && strings.Contains(v, ",") {
		return nil, errors.New(textOneAddress)
	}
	if !strings.Contains(v, "://") {
		return nil, errors.New(textNoScheme)
	}
	u, err := url.Parse(v)
	switch {
	case err != nil:
		return nil, errors.New(textNotAddress)
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf(textScheme, u.Scheme)
	case u.User != nil:
		return nil, errors.New(textUserInAddress)
	case u.Hostname() == "":
		return nil, errors.New(textNoHost)
	case !validPort(u.Port()):
		return nil, fmt.Errorf(textPort, u.Port())
	case u.Fragment != "" || strings.HasSuffix(v, "#"):
		return nil, errors.New(textFragment)
	}
	return u, nil
}

func validPort(p string) bool {
	n, err := strconv.Atoi(p)
	return p == "" || err == nil && n >= 1 && n <= 65535
}

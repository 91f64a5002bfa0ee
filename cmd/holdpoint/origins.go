package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"holdpoint/internal/variables"
)

// origins is the list of origins in HOLDPOINT_CORS_ORIGINS. The separators are semicolons, as in
// Holdpoint's other variables, or commas, as in the lists of origins of other programs. An origin
// contains neither of them.
type origins []string

// allOrigins is the value that allows the pages of all origins.
const allOrigins = "*"

// UnmarshalText reads the value of HOLDPOINT_CORS_ORIGINS.
func (o *origins) UnmarshalText(text []byte) error {
	*o = nil
	for _, one := range strings.FieldsFunc(string(text), func(c rune) bool { return strings.ContainsRune(";, \t\n", c) }) {
		if err := checkOrigin(one); err != nil {
			if one != string(text) {
				err = fmt.Errorf("%s: %w", variables.Quote(one), err)
			}
			return err
		}
		*o = append(*o, strings.ToLower(one))
	}
	switch {
	case *o == nil:
		return errors.New(textNotOrigin)
	case len(*o) > 1 && o.allowsAll():
		return errors.New(textStarAndList)
	}
	return nil
}

// String returns the origins with semicolons between them.
func (o origins) String() string { return strings.Join(o, ";") }

func (o origins) allowsAll() bool { return slices.Contains(o, allOrigins) }

// schemesWithoutOrigin has the URL schemes that cannot be the scheme of an origin: no page is
// loaded from such a URL, or the page has no origin.
var schemesWithoutOrigin = map[string]bool{"file": true, "data": true, "blob": true, "javascript": true, "about": true, "ws": true, "wss": true}

var (
	schemePattern = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9+.-]*$`)
	hostPattern   = regexp.MustCompile(`^[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$`)
)

// checkOrigin returns the error in an origin, or nil. A browser sends an origin as
// scheme://host[:port], in lower case and without the scheme's default port, so any other spelling
// would never match. Package rs/cors accepts a * anywhere, so https://app* would allow
// https://app.evil.example. Holdpoint accepts a * only for the first labels of a host name.
func checkOrigin(v string) error {
	if v == allOrigins {
		return nil
	}
	if strings.EqualFold(v, "null") {
		return errors.New(textNullOrigin)
	}
	scheme, rest, ok := strings.Cut(v, "://")
	if !ok {
		return errors.New(textOriginNoScheme)
	}
	if !schemePattern.MatchString(scheme) || schemesWithoutOrigin[strings.ToLower(scheme)] {
		return fmt.Errorf(textOriginScheme, scheme)
	}
	if at := strings.IndexAny(rest, "/?#@\\"); at >= 0 {
		return fmt.Errorf(textOriginTail, rest[at:at+1])
	}
	host, port := rest, ""
	if u, err := url.Parse("http://" + strings.Replace(rest, "*", "x", 1)); err != nil || u.Hostname() == "" {
		return errors.New(textOriginExample)
	} else if u.Port() != "" || strings.HasSuffix(rest, ":") {
		port = u.Port()
		host = strings.TrimSuffix(rest, ":"+port)
		if port == "" || !validPort(port) {
			return fmt.Errorf(textPort, port)
		}
	}
	if scheme = strings.ToLower(scheme); port != "" && port == map[string]string{"http": "80", "https": "443"}[scheme] {
		return fmt.Errorf(textOwnPort, port, scheme)
	}
	return checkOriginHost(strings.ToLower(host))
}

func checkOriginHost(host string) error {
	if bare, ok := strings.CutPrefix(host, "["); ok {
		address, err := netip.ParseAddr(strings.TrimSuffix(bare, "]"))
		if err != nil || address.Zone() != "" || "["+address.String()+"]" != host {
			return errors.New(textOriginIPv6)
		}
		return nil
	}
	name, wild := strings.CutPrefix(host, "*.")
	switch {
	case strings.Contains(name, "*"):
		return errors.New(textStarPlace)
	case wild && (!strings.Contains(name, ".") || net.ParseIP(name) != nil):
		return errors.New(textStarTooWide)
	case !hostPattern.MatchString(name):
		return errors.New(textOriginHost)
	}
	return nil
}

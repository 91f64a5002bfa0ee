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

// origins are those of HOLDPOINT_CORS_ORIGINS. Semicolons separate them, as in other variables, or
// commas, as in other lists of origins. No origin has either in it.
type origins []string

// everybody is the list that admits all pages.
const everybody = "*"

// UnmarshalText reads the value of the variable.
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
	case len(*o) > 1 && o.everybody():
		return errors.New(textStarAndList)
	}
	return nil
}

// String returns the list as the variable has it.
func (o origins) String() string { return strings.Join(o, ";") }

func (o origins) everybody() bool { return slices.Contains(o, everybody) }

// pagesOwn are the schemes of addresses whose pages have no origin of their own, or that no page
// comes from.
var pagesOwn = map[string]bool{"file": true, "data": true, "blob": true, "javascript": true, "about": true, "ws": true, "wss": true}

var (
	schemePattern = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9+.-]*$`)
	hostPattern   = regexp.MustCompile(`^[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$`)
)

// checkOrigin says what is wrong with an origin. A browser sends it as scheme://host[:port], in
// lower case and without the scheme's own port. Any other spelling would never match. rs/cors takes
// a * anywhere, so https://app* would let https://app.evil.example in. Here * stands for the first
// labels of a name, and for nothing else.
func checkOrigin(v string) error {
	if v == everybody {
		return nil
	}
	if strings.EqualFold(v, "null") {
		return errors.New(textNullOrigin)
	}
	scheme, rest, ok := strings.Cut(v, "://")
	if !ok {
		return errors.New(textOriginNoScheme)
	}
	if !schemePattern.MatchString(scheme) || pagesOwn[strings.ToLower(scheme)] {
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

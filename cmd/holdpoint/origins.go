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
		return errors.New("not an origin, want one such as https://app.example.com")
	case len(*o) > 1 && o.everybody():
		return errors.New("want either * or a list: * admits all pages without credentials, a list admits its pages with them")
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
		return errors.New("null is the origin of every sandboxed page and every file, want one such as https://app.example.com")
	}
	scheme, rest, ok := strings.Cut(v, "://")
	if !ok {
		return errors.New("scheme missing, want something like https://app.example.com")
	}
	if !schemePattern.MatchString(scheme) || pagesOwn[strings.ToLower(scheme)] {
		return fmt.Errorf("scheme %q has no pages with an origin, want http or https, or an application's own such as capacitor", scheme)
	}
	if at := strings.IndexAny(rest, "/?#@\\"); at >= 0 {
		return fmt.Errorf("an origin has no path, query or user, leave out what begins at %q", rest[at:at+1])
	}
	host, port := rest, ""
	if u, err := url.Parse("http://" + strings.Replace(rest, "*", "x", 1)); err != nil || u.Hostname() == "" {
		return errors.New("not an origin, want something like https://app.example.com or http://localhost:3000")
	} else if u.Port() != "" || strings.HasSuffix(rest, ":") {
		port = u.Port()
		host = strings.TrimSuffix(rest, ":"+port)
		if port == "" || !validPort(port) {
			return fmt.Errorf("port %q is out of range, want 1 to 65535", port)
		}
	}
	if scheme = strings.ToLower(scheme); port != "" && port == map[string]string{"http": "80", "https": "443"}[scheme] {
		return fmt.Errorf("a browser leaves out port %s of %s, and so must this", port, scheme)
	}
	return checkOriginHost(strings.ToLower(host))
}

func checkOriginHost(host string) error {
	if bare, ok := strings.CutPrefix(host, "["); ok {
		address, err := netip.ParseAddr(strings.TrimSuffix(bare, "]"))
		if err != nil || address.Zone() != "" || "["+address.String()+"]" != host {
			return errors.New("not an IPv6 address as a browser writes it, such as [::1]")
		}
		return nil
	}
	name, wild := strings.CutPrefix(host, "*.")
	switch {
	case strings.Contains(name, "*"):
		return errors.New("* may stand for the first part of a name only, such as https://*.example.com")
	case wild && (!strings.Contains(name, ".") || net.ParseIP(name) != nil):
		return errors.New("* would let every site in, want at least https://*.example.com")
	case !hostPattern.MatchString(name):
		return errors.New("not a host name as a browser writes it (letters other than a to z become xn--...)")
	}
	return nil
}

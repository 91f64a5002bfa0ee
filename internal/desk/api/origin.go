package api

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// isOwnPage reports whether a request with a browser's own credentials comes from a page of the
// desk, as far as the browser tells. A request that changes something must have a header that says
// so, because http.CrossOriginProtection allows requests without such headers. A request that only
// reads may lack these headers, because a browser does not send them for an address that a person
// has typed. But if it has them, they must not name another page.
func isOwnPage(req *http.Request, secure bool) bool {
	site := req.Header.Values("Sec-Fetch-Site")
	switch {
	case len(site) > 1:
		return false
	case len(site) == 1:
		return site[0] == "same-origin" || site[0] == "none" && isSafeMethod(req.Method)
	}
	origin := req.Header.Values("Origin")
	if len(origin) == 0 {
		return isSafeMethod(req.Method)
	}
	u, err := url.Parse(origin[0])
	return len(origin) == 1 && err == nil && u.Host == req.Host && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http" && !secure)
}

// isLocalHost reports whether host, under which the browser has reached the desk, is a name of the
// browser's own machine. A request of such a page crosses no network before it arrives.
func isLocalHost(host string) bool {
	u := url.URL{Host: host}
	name := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	addr, err := netip.ParseAddr(name)
	return name == "localhost" || strings.HasSuffix(name, ".localhost") || err == nil && addr.Unmap().IsLoopback()
}

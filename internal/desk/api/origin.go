package api

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// ownPage reports whether a request that a browser has signed comes from a page of the desk itself,
// as far as the browser says. What changes something must have said so; http.CrossOriginProtection
// lets pass what says nothing. What only reads may say nothing, and not come from another page: an
// address bar says none.
func ownPage(req *http.Request, secure bool) bool {
	site := req.Header.Values("Sec-Fetch-Site")
	switch {
	case len(site) > 1:
		return false
	case len(site) == 1:
		return site[0] == "same-origin" || site[0] == "none" && safe(req.Method)
	}
	origin := req.Header.Values("Origin")
	if len(origin) == 0 {
		return safe(req.Method)
	}
	u, err := url.Parse(origin[0])
	return len(origin) == 1 && err == nil && u.Host == req.Host && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http" && !secure)
}

// local reports whether the browser has reached the desk by a name of its own machine. What a page
// sends there passes no network before it.
func local(host string) bool {
	u := url.URL{Host: host}
	name := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	addr, err := netip.ParseAddr(name)
	return name == "localhost" || strings.HasSuffix(name, ".localhost") || err == nil && addr.Unmap().IsLoopback()
}

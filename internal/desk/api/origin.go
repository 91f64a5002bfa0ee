package api

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// ownPage reports whether a request with a browser's own credentials comes from a page of the desk,
// as far as the browser tells. A request that changes something must say so, because
// http.CrossOriginProtection passes requests that say nothing. A request that only reads may say
// nothing, because an address typed by a person says nothing, but must not come from another page.
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

// local reports whether the browser has reached the desk under a name of its own machine. The
// requests of such a page cross no network before they arrive.
func local(host string) bool {
	u := url.URL{Host: host}
	name := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	addr, err := netip.ParseAddr(name)
	return name == "localhost" || strings.HasSuffix(name, ".localhost") || err == nil && addr.Unmap().IsLoopback()
}

package main

import (
	"strings"
	"testing"
)

// TestOriginsThatAreNone: HOLDPOINT_CORS_ORIGINS must refuse a value that no browser sends as an
// origin, and a pattern that would match more than its author expects.
func TestOriginsThatAreNone(t *testing.T) {
	for _, tt := range []struct{ set, want string }{
		{";", `not an origin, want one such as https://app.example.com`},
		{"app.example.com", `scheme missing, want something like https://app.example.com`},
		{"http://localhost:3000;app.example.com", `"app.example.com": scheme missing, want something like https://app.example.com`},
		{"https://app.example.com/", `an origin has no path, query or user, leave out what begins at "/"`},
		{"https://app.example.com?a", `an origin has no path, query or user, leave out what begins at "?"`},
		{"https://me:hush@app.example.com", `an origin has no path, query or user, leave out what begins at "@"`},
		{"https://a.example,b.example", `"b.example": scheme missing, want something like https://app.example.com`},
		{"*;https://app.example.com", `want either * or a list: * admits all pages without credentials, a list admits its pages with them`},
		{"null", `null is the origin of every sandboxed page and every file, want one such as https://app.example.com`},
		{"file:///index.html", `scheme "file" has no pages with an origin, want http or https, or an application's own such as capacitor`},
		{"https://*", `* may stand for the first part of a name only, such as https://*.example.com`},
		{"https://app*", `* may stand for the first part of a name only, such as https://*.example.com`},
		{"https://*.*.example.com", `* may stand for the first part of a name only, such as https://*.example.com`},
		{"https://*.com", `* would let every site in, want at least https://*.example.com`},
		{"https://*.10.0.0.1", `* would let every site in, want at least https://*.example.com`},
		{"http://localhost:*", `not an origin, want something like https://app.example.com or http://localhost:3000`},
		{"https://app.example.com:443", `https has the port 443 by default, and a browser leaves it out of the origin: leave it out here too`},
		{"https://app.example.com:70000", `port "70000" is out of range, want 1 to 65535`},
		{"https://app.example.com:", `port "" is out of range, want 1 to 65535`},
		{"https://", `not an origin, want something like https://app.example.com or http://localhost:3000`},
		{"https://äpp.example.com", `not a host name as a browser writes it (letters other than a to z become xn--...)`},
		{"https://a..example.com", `not a host name as a browser writes it`},
		{"http://[::0001]", `not an IPv6 address as a browser writes it, such as [::1]`},
	} {
		t.Run(tt.set, func(t *testing.T) {
			var o origins
			if err := o.UnmarshalText([]byte(tt.set)); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

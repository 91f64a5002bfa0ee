package main

import (
	"strings"
	"testing"
)

// TestOriginsThatAreNone: what would match no browser's header, or more than one thinks, is refused.
func TestOriginsThatAreNone(t *testing.T) {
	for _, tt := range []struct{ set, want string }{
		{";", `no origin, want one such as https://app.example.com`},
		{"app.example.com", `scheme missing, want something like https://app.example.com`},
		{"http://localhost:3000;app.example.com", `"app.example.com": scheme missing, want something like https://app.example.com`},
		{"https://app.example.com/", `an origin has no path, query or user, leave out what begins at "/"`},
		{"https://app.example.com?a", `an origin has no path, query or user, leave out what begins at "?"`},
		{"https://me:hush@app.example.com", `an origin has no path, query or user, leave out what begins at "@"`},
		{"https://a.example,b.example", `"b.example": scheme missing, want something like https://app.example.com`},
		{"*;https://app.example.com", `* admits all pages and gives none of them credentials, the others get them: want either * or a list`},
		{"null", `null is what anybody's sandboxed page or file is called, no origin`},
		{"file:///index.html", `scheme "file" is of no page with an origin, want http or https, or an application's own such as capacitor`},
		{"https://*", `* stands for the first part of a name only, such as https://*.example.com`},
		{"https://app*", `* stands for the first part of a name only, such as https://*.example.com`},
		{"https://*.*.example.com", `* stands for the first part of a name only, such as https://*.example.com`},
		{"https://*.com", `* would admit everybody's names, want at least https://*.example.com`},
		{"https://*.10.0.0.1", `* would admit everybody's names, want at least https://*.example.com`},
		{"http://localhost:*", `no origin, want something like https://app.example.com or http://localhost:3000`},
		{"https://app.example.com:443", `a browser leaves out port 443 of https, and so must this`},
		{"https://app.example.com:70000", `port "70000" is out of range, want 1 to 65535`},
		{"https://app.example.com:", `port "" is out of range, want 1 to 65535`},
		{"https://", `no origin, want something like https://app.example.com or http://localhost:3000`},
		{"https://äpp.example.com", `no name of a host as a browser writes it (other letters than a to z: as xn--...)`},
		{"https://a..example.com", `no name of a host as a browser writes it`},
		{"http://[::0001]", `no address of IPv6 as a browser writes it, such as [::1]`},
	} {
		t.Run(tt.set, func(t *testing.T) {
			var o origins
			if err := o.UnmarshalText([]byte(tt.set)); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

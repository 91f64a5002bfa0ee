package stream

import (
	"net/http"
	"slices"
	"testing"
)

// TestHeadersOfAStream: by the header Cache-Control of a stream, caches and proxies must learn that
// they may not store, change or delay the stream. The other directives of the backend must stay.
func TestHeadersOfAStream(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		said       []string
	}{
		{"nothing", "no-cache, no-transform", nil},
		{"an empty line", "no-cache, no-transform", []string{""}},
		{"as most frameworks", "no-cache, no-transform", []string{"no-cache"}},
		{"all of it", "No-Transform, no-cache", []string{"No-Transform, no-cache"}},
		{"more", "private, no-store, no-transform", []string{"private, no-store"}},
		{"two lines", "private, no-cache, no-transform", []string{"private", "no-cache"}},
		{"no such thing", "keep-alive, no-cache, no-transform", []string{"keep-alive"}},
		{"a name that begins like it", "x-no-cache=1, no-cache, no-transform", []string{"x-no-cache=1"}},
		{"of a field", `no-cache="Set-Cookie", no-cache, no-transform`, []string{`no-cache="Set-Cookie"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			header := http.Header{"X-Accel-Buffering": {"yes"}}
			if tt.said != nil {
				header["Cache-Control"] = tt.said
			}
			MakeHeader(header)
			if got := header["Cache-Control"]; !slices.Equal(got, []string{tt.want}) {
				t.Errorf("Cache-Control %q, want %q", got, tt.want)
			}
			if got := header["X-Accel-Buffering"]; !slices.Equal(got, []string{"no"}) {
				t.Errorf("X-Accel-Buffering %q", got)
			}
		})
	}
}

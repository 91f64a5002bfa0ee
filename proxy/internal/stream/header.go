package stream

import (
	"net/http"
	"strings"
)

// MakeHeader turns the header of a backend's response into the header of an event stream that
// Holdpoint writes. It removes the fields that describe the backend's bytes, such as Content-Length
// and Etag. It sets the media type, and tells caches and nginx not to delay frames.
func MakeHeader(header http.Header) {
	for _, name := range []string{"Content-Length", "Content-Encoding", "Etag", "Digest", "Content-Md5", "Last-Modified", "Accept-Ranges", "Trailer"} {
		delete(header, name)
	}
	if !IsEventStream(header) {
		header.Set("Content-Type", "text/event-stream")
	}
	header.Set("Cache-Control", withNoCache(header["Cache-Control"]))
	header.Set("X-Accel-Buffering", "no") // keeps nginx from buffering frames
}

// withNoCache returns the backend's Cache-Control with no-cache and no-transform added. A cache
// must not store a stream, and a proxy that compresses a stream delays its frames.
func withNoCache(said []string) string {
	var list []string
	stores, changes := true, true
	for _, one := range strings.Split(strings.Join(said, ","), ",") {
		if one = strings.TrimSpace(one); one == "" {
			continue
		}
		list = append(list, one)
		stores = stores && !strings.EqualFold(one, "no-cache") && !strings.EqualFold(one, "no-store")
		changes = changes && !strings.EqualFold(one, "no-transform")
	}
	if stores {
		list = append(list, "no-cache")
	}
	if changes {
		list = append(list, "no-transform")
	}
	return strings.Join(list, ", ")
}

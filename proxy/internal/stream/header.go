package stream

import (
	"net/http"
	"strings"
)

// MakeHeader changes the header of a backend's answer for an event stream that Holdpoint writes. It
// removes what describes the backend's bytes, such as Content-Length and Etag. It sets the media
// type, and keeps caches and nginx from holding frames back.
func MakeHeader(header http.Header) {
	for _, name := range []string{"Content-Length", "Content-Encoding", "Etag", "Digest", "Content-Md5", "Last-Modified", "Accept-Ranges", "Trailer"} {
		delete(header, name)
	}
	if !IsEventStream(header) {
		header.Set("Content-Type", "text/event-stream")
	}
	header.Set("Cache-Control", uncached(header["Cache-Control"]))
	header.Set("X-Accel-Buffering", "no") // nginx in front would hold frames back
}

// uncached returns what a backend said of caches, and that nobody may store a stream or change it:
// a proxy that compresses one holds frames back.
func uncached(said []string) string {
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

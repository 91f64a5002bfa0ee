package proxy

import (
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"holdpoint/proxy/internal/cors"
	"holdpoint/proxy/internal/intake"
)

// If a person opens an agent's address in a browser, the browser shows the backend's response to a
// GET of "/". Most backends have no page there, and answer with JSON or an empty body. Holdpoint
// replaces such a body by a page that explains the address, and keeps the status. Programs do not
// get the page, because they do not ask for text/html.

// wantsPage reports whether a browser asks for a page: the request is a GET of "/", and its Accept
// contains text/html. The */* of curl and fetch does not count.
func wantsPage(req *http.Request) bool {
	return req.Method == http.MethodGet && req.URL.Path == "/" && !intake.HasBody(req) && namesHTML(req.Header["Accept"])
}

func namesHTML(accept []string) bool {
	for _, line := range accept {
		for part := range strings.SplitSeq(line, ",") {
			media, params, err := mime.ParseMediaType(part)
			q, given := params["q"]
			if refused := given && strings.Trim(q, "0.") == ""; err == nil && media == "text/html" && !refused {
				return true
			}
		}
	}
	return false
}

// putPage replaces the body of a response by the page, if wantsPage is true for the request and
// the backend answered 404 or 405 without an HTML page.
func putPage(res *http.Response) {
	if !wantsPage(clientOf(res.Request.Context())) {
		return
	}
	if res.StatusCode != http.StatusNotFound && res.StatusCode != http.StatusMethodNotAllowed {
		return
	}
	if media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); media == "text/html" || media == "application/xhtml+xml" {
		return
	}
	text := strings.ReplaceAll(aboutPage, "STATUS", strconv.Itoa(res.StatusCode))
	res.Body.Close()
	res.Body, res.ContentLength, res.Uncompressed, res.TransferEncoding, res.Trailer = io.NopCloser(strings.NewReader(text)), int64(len(text)), false, nil, nil
	for _, name := range []string{
		"Content-Encoding", "Content-Language", "Content-Range", "Content-Disposition", "Content-Md5", "Digest", "Repr-Digest", "Content-Digest",
		"Etag", "Last-Modified", "Accept-Ranges", "Trailer",
	} {
		res.Header.Del(name) // this header describes the body that was replaced
	}
	pageHeader(res.Header, text)
}

func pageHeader(header http.Header, text string) {
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Length", strconv.Itoa(len(text)))
	header.Set("Cache-Control", "no-store")
	cors.AddVary(header, "Accept")
}

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

// A person who opens an agent's address in a browser sees what a backend answers to a GET of "/":
// most have nothing there, and say so in JSON or in nothing at all. Such an answer gets a body that
// says what this is. Its status stays, and a program that asks sees nothing of it: it does not ask
// for text/html.

// wantsPage reports whether a browser sent a request for a page of its own: a GET of "/" that names
// text/html. */*, which curl and fetch send, does not.
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

// introduce puts the page into the answer to such a request, where the backend has nothing and no
// page of its own to say so.
func introduce(res *http.Response) {
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
		res.Header.Del(name) // they say something of the body that is gone
	}
	pageHeader(res.Header, text)
}

func pageHeader(header http.Header, text string) {
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Length", strconv.Itoa(len(text)))
	header.Set("Cache-Control", "no-store")
	cors.AddVary(header, "Accept")
}

// aboutPage names nothing of this installation: whoever reaches it may be anybody.
const aboutPage = `<!doctype html>
<html lang="en">
<title>Holdpoint</title>
<h1>Holdpoint</h1>
<p>Here is an agent that speaks AG-UI, behind Holdpoint, a proxy for its questions.
This address has no page: the agent's backend answered STATUS.</p>
<p>An application talks to the agent by sending a run to the agent's path, with POST. If you
expected a chat, open the address of the application.</p>
</html>
`

// nowherePage is shown where a Router has no agent.
const nowherePage = `<!doctype html>
<html lang="en">
<title>Holdpoint</title>
<h1>Holdpoint</h1>
<p>Here are agents that speak AG-UI, behind Holdpoint, a proxy for their questions.
Each has a path of its own, and this address is no agent's.</p>
<p>An application talks to an agent by sending a run to the agent's path, with POST. If you
expected a chat, open the address of the application.</p>
</html>
`

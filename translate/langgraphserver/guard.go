package langgraphserver

import (
	"net/url"
	"slices"
	"strings"

	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// Refusal implements translate.Guard. The server does not distinguish its clients. Anybody can
// change an assistant that others run, and list or delete all threads, and a thread id gives access
// to the questions of the thread. So Holdpoint forwards only requests that read a single thread or
// public data, and those that d.allow lists.
//
// The server must read the same path that this check reads. So a path with escapes or special
// segments is refused.
func (d *Dialect) Refusal(l translate.RequestLine) string {
	if !harmlessQuery(l.Query) {
		return textGuardedQuery
	}
	if l.Run || kit.IsPlainPath(l.Path) && (harmless(l.Method, l.Path) || d.allow.Match(l.Method, l.Path, controlsRun)) {
		return ""
	}
	return textGuarded
}

// harmless reports whether a request only reads a single thread or public data.
func harmless(method, at string) bool {
	first, rest, _ := strings.Cut(at[1:], "/")
	second, _, _ := strings.Cut(rest, "/")
	switch method {
	case "GET", "HEAD":
		switch first {
		case "ok", "info":
			return rest == ""
		case "assistants":
			return true
		case "threads":
			return isThreadID(second)
		}
	case "POST":
		return at == "/assistants/search" || at == "/assistants/count"
	}
	return false
}

// isThreadID reports whether a path segment is a thread id, and not a word for all threads such as
// search or count. The server's ids are UUIDs. isThreadID only looks for a digit, because the words
// have none.
func isThreadID(segment string) bool { return strings.ContainsAny(segment, "0123456789") }

// harmlessQuery reports whether a query neither stops a run nor names another HTTP method. A GET of
// a run's stream with cancel_on_disconnect cancels the run when the reader disconnects, even a run
// that carries an approval (RAN langgraph-api 0.16.7). harmlessQuery compares only the letters of a
// parameter's name, so that another spelling of the name does not pass.
func harmlessQuery(query string) bool {
	for pair := range strings.FieldsFuncSeq(query, func(c rune) bool { return c == '&' || c == ';' }) {
		name, _, _ := strings.Cut(pair, "=")
		for strings.ContainsAny(name, "%+") {
			plain, err := url.QueryUnescape(name)
			if err != nil {
				return false
			}
			if plain == name {
				break
			}
			name = plain
		}
		letters := strings.Map(func(c rune) rune {
			if c < 'a' || c > 'z' {
				return -1
			}
			return c
		}, strings.ToLower(name))
		if strings.Contains(letters, "cancelondisconnect") || letters == "method" {
			return false
		}
	}
	return true
}

// controlsRun reports whether a request starts, answers or stops a run, or writes into a thread's
// state.
func controlsRun(method, at string) bool {
	if method == "GET" || method == "HEAD" || method == "OPTIONS" {
		return false
	}
	segments := strings.Split(at[1:], "/")
	if slices.ContainsFunc(segments, func(s string) bool { return s == "runs" || s == "a2a" || s == "mcp" }) {
		return true
	}
	return segments[0] == "threads" && len(segments) == 3 && (segments[2] == "state" || segments[2] == "commands")
}

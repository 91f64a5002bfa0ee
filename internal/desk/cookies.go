package desk

import (
	"net/http"
	"slices"
	"strings"

	"holdpoint/internal/desk/api"
)

// WithoutSessions returns a handler that removes the desk's session cookies from each request
// before it calls next. Browsers send a cookie to every port of a host, and an agent that got the
// cookie could answer its own questions. If there is no desk, WithoutSessions returns next itself.
func (s *Settings) WithoutSessions(next http.Handler) http.Handler {
	if !s.IsOn() {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if cookies := req.Header["Cookie"]; slices.ContainsFunc(cookies, hasSession) {
			if cookies = withoutSession(cookies); cookies == nil {
				delete(req.Header, "Cookie")
			} else {
				req.Header["Cookie"] = cookies
			}
		}
		next.ServeHTTP(w, req)
	})
}

func hasSession(line string) bool {
	return slices.ContainsFunc(api.Cookies, func(name string) bool { return strings.Contains(line, name) })
}

// withoutSession returns the lines of a Cookie header without the desk's cookies. All other cookies
// stay the same byte for byte. It returns nil if there are no other cookies.
func withoutSession(lines []string) []string {
	var remaining []string
	for _, line := range lines {
		pairs := slices.DeleteFunc(strings.Split(line, ";"), func(pair string) bool {
			name, _, _ := strings.Cut(pair, "=")
			return slices.Contains(api.Cookies, strings.TrimSpace(name))
		})
		if rest := strings.TrimLeft(strings.Join(pairs, ";"), " "); rest != "" {
			remaining = append(remaining, rest)
		}
	}
	return remaining
}

package superagent

import (
	"slices"
	"strings"

	"holdpoint/translate"
	"holdpoint/translate/kit"
)

var _ translate.Guard = (*Dialect)(nil)

// Refusal implements translate.Guard. The server asks most of its clients for no key (read,
// superagent-base backend/main.go): whoever reaches it can stop anybody's run (chat/abort), start
// and resume a workflow past the record, and write what agents remember. So requests that read
// pass, and others if the operator says so.
func (d *Dialect) Refusal(l translate.RequestLine) string {
	reads := l.Method == "GET" || l.Method == "HEAD"
	if l.Run || reads || kit.IsPlainPath(l.Path) && d.allow.Match(l.Method, l.Path, steers) {
		return ""
	}
	return textGuarded
}

// steers reports whether a request starts or resumes a run of an agent or of a workflow.
func steers(method, at string) bool {
	if method == "GET" || method == "HEAD" || method == "OPTIONS" {
		return false
	}
	segments := strings.Split(strings.ToLower(at), "/")
	last := segments[len(segments)-1]
	return slices.Contains(segments, "chat") && last != "abort" ||
		slices.ContainsFunc(segments, func(s string) bool { return strings.HasPrefix(s, "workflow") })
}

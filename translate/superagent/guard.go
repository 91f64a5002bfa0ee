package superagent

import (
	"slices"
	"strings"

	"holdpoint/translate"
	"holdpoint/translate/kit"
)

var _ translate.Guard = (*Dialect)(nil)

// Refusal implements translate.Guard. The server requires a key from few of its clients (read,
// superagent-base backend/main.go). So anybody can stop a run (chat/abort), start and resume a
// workflow without Holdpoint, and write into the memory of agents. Holdpoint therefore forwards
// only requests that read, and requests that the operator allows.
func (d *Dialect) Refusal(l translate.RequestLine) string {
	reads := l.Method == "GET" || l.Method == "HEAD"
	if l.Run || reads || kit.IsPlainPath(l.Path) && d.allow.Match(l.Method, l.Path, controlsRun) {
		return ""
	}
	return textGuarded
}

// controlsRun reports whether a request starts or resumes a run of an agent, or calls a workflow.
func controlsRun(method, at string) bool {
	if method == "GET" || method == "HEAD" || method == "OPTIONS" {
		return false
	}
	segments := strings.Split(strings.ToLower(at), "/")
	last := segments[len(segments)-1]
	return slices.Contains(segments, "chat") && last != "abort" ||
		slices.ContainsFunc(segments, func(s string) bool { return strings.HasPrefix(s, "workflow") })
}

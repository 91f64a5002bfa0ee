package langgraph

import (
	"strings"

	"holdpoint/translate"
)

var (
	_ translate.Signer      = (*Dialect)(nil)
	_ translate.EarlyReader = (*Dialect)(nil)
	_ translate.Hinter      = (*Dialect)(nil)
)

// Hint implements translate.Hinter. In addition to the AG-UI adapter, a LangGraph Server has a
// protocol of its own, in which pauses are not AG-UI events.
func (*Dialect) Hint(path string) string {
	if !isServerCall(path) {
		return ""
	}
	return hintServer
}

// isServerCall reports whether path contains /threads/<id>/runs/<name>.
func isServerCall(path string) bool {
	if !strings.Contains(path, "threads/") {
		return false
	}
	parts := strings.Split(strings.Trim(path, "/"), "/")
	for i := range parts {
		if parts[i] == "threads" && i+3 < len(parts) && parts[i+2] == "runs" {
			return true
		}
	}
	return false
}

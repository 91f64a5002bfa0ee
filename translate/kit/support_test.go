package kit

import "strings"

const person = `{"id":"u1","role":"user","content":"Go."}`

func body(more string, messages ...string) string {
	return `{"threadId":"t","runId":"r","messages":[` + strings.Join(messages, ",") + `]` + more + `}`
}

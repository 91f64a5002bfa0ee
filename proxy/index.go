package proxy

import (
	"cmp"
	"regexp"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/history"
	"holdpoint/proxy/internal/ledger"
	"holdpoint/store"
	"holdpoint/translate"
)

// The index in the store maps a question, and a call, to the thread that asked about it; see
// ledger.Index. The keys of the index contain values that identify the conversation. This file
// decides which values of a request these are.

const (
	// maxCandidates bounds how many pauses of an index entry are examined. If two of them are open,
	// the answer is already ambiguous.
	maxCandidates = 3
	// maxLookups bounds how many questions and how many calls of one request are looked up.
	maxLookups = 8
)

// hexEnd matches ids that end in a UUID or in 128 bits in hex. The in-tree clients of .NET (those
// of Microsoft's Agent Framework) write 32 digits. Other clients write a UUID, some of them after a
// prefix.
var hexEnd = regexp.MustCompile(`(?i)(^|[^0-9a-f])[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}$`)

// isRandom reports whether the id of a message seems impossible to guess. Such an id ends in a UUID
// or in 128 bits in hex, or is a base64 text of at least 120 bits.
func isRandom(id string) bool {
	if hexEnd.MatchString(id) {
		return true
	}
	var lower, upper, digit bool
	for _, c := range []byte(id) {
		switch {
		case c >= 'a' && c <= 'z':
			lower = true
		case c >= 'A' && c <= 'Z':
			upper = true
		case c >= '0' && c <= '9':
			digit = true
		case !strings.ContainsRune("-_+/=", rune(c)):
			return false
		}
	}
	return len(id) >= 20 && lower && upper && digit
}

// index returns the index of the agent's threads on the request's path.
func (t *thread) index() ledger.Index {
	return ledger.Index{Tenant: t.principal.Tenant, Agent: t.opts.Agent, Path: t.request.path}
}

func (t *thread) indexKey(kind ledger.Kind, from ...string) store.Key {
	return t.index().Key(kind, from...)
}

// conversationMarks returns the values that identify the conversation to which the request belongs.
// If there is a principal, they are the principal's hashes. Otherwise they are the ids of the first
// and the last user message whose id nobody can guess. Ids of assistant messages do not count,
// because some are made from the id of a call.
func (t *thread) conversationMarks() []string {
	if t.principal.HasPrincipal() {
		list := t.principal.Owner().IDs()
		for n := range list {
			list[n] = "principal " + list[n]
		}
		return list
	}
	first, last := "", ""
	for n := range t.request.input.Messages {
		if m := &t.request.input.Messages[n]; m.Role == "user" && isRandom(m.ID) {
			first = cmp.Or(first, m.ID)
			last = m.ID
		}
	}
	switch first {
	case "":
		return nil
	case last:
		return []string{"message " + first}
	}
	return []string{"message " + first, "message " + last}
}

// enterIndex adds a pause to the index. It must be called before the client is told of the pause. A
// question without an entry can be answered only on its own thread.
func (t *thread) enterIndex(p *agui.Pause) {
	_, continues := t.opts.Dialect.(translate.Continuer)
	stateless, ok := t.opts.Dialect.(translate.Stateless)
	trail := ledger.SearchKeys{Alone: continues && t.ledger.Owner == "", Edits: ok && stateless.KeepsNothing(p)}
	if t.principal.HasPrincipal() || t.request.isOwn {
		if owner := t.ledger.Owner; owner != "" {
			trail.Witnesses = []string{"principal " + owner}
		}
	} else {
		trail.Witnesses = t.conversationMarks()
	}
	behind, _ := history.LastUserMessage(t.request.input.Messages)
	atOnce := 4
	if t.opts.StoreInMemory {
		atOnce = 1
	}
	if err := t.ledger.Enter(t.index().Keys(p, trail), p, behind, atOnce); err != nil {
		t.log.Warn(logNotInIndex, "err", err)
	}
}

// lookUpCall returns the places of the pauses that asked about a call in the conversation of the
// request. The list contains each pause once.
func (t *thread) lookUpCall(kind ledger.Kind, c agui.Call) ([]ledger.Place, error) {
	return t.ledger.Find(t.index().CallKeys(kind, c, t.conversationMarks())...)
}

// WasAsked implements history.Memory.
func (t *thread) WasAsked(c agui.Call) (inThread, inAnyThread bool, err error) {
	list, err := t.lookUpCall(ledger.ByCall, c)
	if err != nil || len(list) > 0 || t.principal.HasPrincipal() {
		return len(list) > 0, len(list) > 0, err
	}
	list, err = t.ledger.Find(t.indexKey(ledger.ByCallAlone, c.Parts()...))
	return false, len(list) > 0, err
}

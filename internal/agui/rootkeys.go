package agui

import "math/bits"

// RunKeys is the set of those root keys of a body on which Holdpoint acts, in any spelling. It
// shows whether some backend could read the body as a run or an answer. The zero value is the empty
// set.
type RunKeys uint8

// Add adds the key to the set if name is a spelling of a root key. It returns the index of that
// root key, or -1 for any other key.
func (k *RunKeys) Add(name string) int {
	n := spellingOf(rootKeys[:], name)
	if n >= 0 {
		*k |= 1 << n
	}
	return n
}

func (k RunKeys) has(n int) bool { return k&(1<<n) != 0 }

// Run reports whether a body with these keys is a run. Two keys are needed that only runs have
// together. One key is not enough, because backends require different keys: agent-framework-ag-ui
// requires only messages, and a server without validation finds its thread by one key and an answer
// by another. protocolVersion counts only together with messages, because other protocols have it
// too.
func (k RunKeys) Run() bool {
	const version = 1 << versionKey
	return bits.OnesCount8(uint8(k&^version)) >= 2 || k.has(messagesKey) && k.has(versionKey)
}

// answeringKeys returns the keys for the value of the n-th root key. If the value has one of them,
// it is an answer, whatever the other root keys are.
func answeringKeys(n int) []string {
	switch n {
	case resumeKey:
		return answerKeys[:]
	case propsKey:
		return propKeys[:]
	}
	return nil
}

// IsAnswerKey reports whether the value of a root key is an answer if it has this key. n is the
// index that Add returned for the root key.
func IsAnswerKey(n int, key string) bool { return spellingOf(answeringKeys(n), key) >= 0 }

// answers reports whether the value of the n-th root key is an answer, whatever the other root keys
// are. The value must be valid JSON.
func answers(n int, value string) bool {
	names := answeringKeys(n)
	if names == nil || value[0] != '[' {
		return names != nil && hasKey(value, names)
	}
	for at := skipSpace(value, 1); value[at] != ']'; {
		end := valueEnd(value, at, 2)
		if end < 0 || hasKey(value[at:end], names) {
			return end >= 0
		}
		if at = skipSpace(value, end); value[at] == ',' {
			at = skipSpace(value, at+1)
		}
	}
	return false
}

// hasKey reports whether a value is an object that has one of the keys in names, in any spelling.
func hasKey(value string, names []string) bool {
	if value[0] != '{' {
		return false
	}
	for m := MembersIn(value); m.Next(); {
		if spellingOf(names, m.Name()) >= 0 {
			return true
		}
	}
	return false
}

// HasMessages reports whether a JSON object has the key messages at its root, in any spelling.
func HasMessages(object []byte) bool {
	var keys RunKeys
	for m := MembersOf(object); m.Next(); {
		keys.Add(m.Name())
	}
	return keys.has(messagesKey)
}

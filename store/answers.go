package store

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// An AnswerDigest is the digest of the answer to one question.
type AnswerDigest struct{ Question, Digest string }

// MarshalAnswers returns the Digest of a claim: a JSON array with a pair of question and digest for
// each answer, sorted. Backends and clients choose the ids, so an id may contain any separator.
func MarshalAnswers(answers []AnswerDigest) string {
	sorted := slices.SortedFunc(slices.Values(answers), func(a, b AnswerDigest) int {
		return cmp.Or(cmp.Compare(a.Question, b.Question), cmp.Compare(a.Digest, b.Digest))
	})
	pairs := make([][2]string, len(sorted))
	for n, a := range sorted {
		pairs[n] = [2]string{a.Question, a.Digest}
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(pairs) // strings have a JSON form
	return strings.TrimSuffix(out.String(), "\n")
}

// UnmarshalAnswers returns the digests of the answers in the Digest of a claim or a result, by
// question. If a question has two, the first counts. It also reads the form of earlier records: a
// line `<question> <digest>` for each answer.
func UnmarshalAnswers(digest string) map[string]string {
	var pairs [][2]string
	if json.Unmarshal([]byte(digest), &pairs) != nil {
		pairs = nil
		for line := range strings.SplitSeq(digest, "\n") {
			at := max(strings.LastIndexByte(line, ' '), 0) // the digest has no space
			pairs = append(pairs, [2]string{line[:at], strings.TrimPrefix(line[at:], " ")})
		}
	}
	answers := make(map[string]string, len(pairs))
	for _, p := range pairs {
		if _, twice := answers[p[0]]; !twice {
			answers[p[0]] = p[1]
		}
	}
	return answers
}

// SameAnswers reports whether two Digests have the same answers. A pause that ended without an
// answer has the Digest "".
func SameAnswers(a, b string) bool {
	if a == b || a == "" || b == "" {
		return a == b
	}
	return maps.Equal(UnmarshalAnswers(a), UnmarshalAnswers(b))
}

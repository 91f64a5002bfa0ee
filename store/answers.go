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

// MarshalAnswers returns the Digest of a claim. It is a JSON array with a pair of question and
// digest for each answer, sorted. It is JSON because backends and clients choose the ids, so an id
// may contain any separator.
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
	_ = e.Encode(pairs) // strings always have a JSON form, so there is no error
	return strings.TrimSuffix(out.String(), "\n")
}

// UnmarshalAnswers reads the Digest of a claim or a result. It returns the digest of each answer,
// under the id of its question. If a question has two digests, the first counts. It also reads the
// format of earlier records, which has a line `<question> <digest>` for each answer.
func UnmarshalAnswers(digest string) map[string]string {
	var pairs [][2]string
	if json.Unmarshal([]byte(digest), &pairs) != nil {
		pairs = nil
		for line := range strings.SplitSeq(digest, "\n") {
			at := max(strings.LastIndexByte(line, ' '), 0) // a digest contains no space
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

// SameAnswers reports whether two Digests have the same answers. If a pause ended without an
// answer, its Digest is "".
func SameAnswers(a, b string) bool {
	if a == b || a == "" || b == "" {
		return a == b
	}
	return maps.Equal(UnmarshalAnswers(a), UnmarshalAnswers(b))
}

// Package dialecttest has the helpers for the tests of all dialects. It plays a stream to a run
// (Play, Decode), parses a request (Input), and answers a pause (WithIDs, Resume). It reads the
// scenarios of testdata. CheckThread checks the rules for all dialects. For each dialect there is a
// small Backend of its family, which asks, and tells what was answered.
//
// Tests that iterate over the list of dialects play these backends and run CheckThread. So existing
// tests check every dialect that is added.
//
// It is for tests only, and has no knowledge of proxy or of the options of dialects.
package dialecttest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A Backend asks one question at a time, in the way of its family. It is data: the caller keeps the
// question that it waits for. {n} in its texts is replaced by the number of the question, which
// makes ids unique.
type Backend struct {
	// Dialect is the name of the dialect. Form names one of its forms if it has several.
	Dialect, Form string
	// Environment has the variables that an operator must set in addition to HOLDPOINT_DIALECT.
	Environment map[string]string
	// MediaType is the media type of its answers.
	MediaType string
	// QuestionStream is the answer that ends with question n. EndStream is the answer of a run that
	// asks nothing. Did and DeniedStream are the answers to a request with an answer: the backend
	// carried out what it had asked about, or did not.
	QuestionStream, EndStream, ActedStream, DeniedStream string
	// Other returns the JSON answer to a request that is not a run, such as a request for its thread
	// or its state. waits is the question that it waits for, or 0. n is the number of questions that
	// it asked. It returns "" for a run. If Other is nil, every request is a run.
	Other func(method, path string, waits, n int) string
	// Yes and No are the payloads of a plain approval and a plain denial.
	Yes, No string
	// Reply is the message by which a client answers question n in the backend's own form. {yes} is
	// replaced by true or false, and {ACCEPT|REJECT} by the word before the bar for a yes, and by the
	// one after it for a no. Reply is "" if a client has no such form, because it answers in resume.
	Reply string
	// Reads returns the answer to question n in a request. waits reports that the backend waits for
	// that question, so that a request that does not name a question may answer it.
	Reads func(body []byte, n int, waits bool) Meaning
}

// A Meaning is the answer to a question in a request.
type Meaning int

// Nothing: the request does not answer the question. Approves: the backend would act. Denies: the
// backend would not act.
const (
	Nothing Meaning = iota
	Approves
	Denies
)

// Name returns the name of the backend for a test.
func (b Backend) Name() string { return strings.TrimSuffix(b.Dialect+" "+b.Form, " ") }

// hexID is the beginning of the ids of 32 hex digits, which {n:32} in a text stands for.
const hexID = "529a97505c90b72d4bb0"

// TextFor returns one of the texts for question n.
func TextFor(text string, n int) string {
	text = strings.ReplaceAll(text, "{n:32}", fmt.Sprintf("%s%012x", hexID, n))
	return strings.ReplaceAll(text, "{n}", strconv.Itoa(n))
}

// twoWords matches the word of a yes and the word of a no in a Reply.
var twoWords = regexp.MustCompile(`\{([^{}|"]+)\|([^{}|"]+)\}`)

// ReplyMessage returns the message that answers question n with yes or no.
func (b Backend) ReplyMessage(n int, yes bool) string {
	word := "$2"
	if yes {
		word = "$1"
	}
	text := strings.ReplaceAll(TextFor(b.Reply, n), "{yes}", strconv.FormatBool(yes))
	return twoWords.ReplaceAllString(text, word)
}

// AskAfter returns the answer of a run that first does what first has and then asks. It is one run
// if both are streams of the same form.
func (b Backend) AskAfter(first string) string {
	sep := "\n"
	if b.MediaType == eventStream {
		sep = "\n\n"
	}
	did, asks := strings.Split(first, sep), strings.Split(b.QuestionStream, sep)
	if did[0] != asks[0] {
		return b.QuestionStream // such answers cannot be joined
	}
	return strings.Join(append(did[:len(did)-2], asks[1:]...), sep)
}

// Of returns the backends of a dialect.
func Of(dialect string) []Backend {
	var list []Backend
	for _, b := range backends() {
		if b.Dialect == dialect {
			list = append(list, b)
		}
	}
	return list
}

// frames returns an event stream with these data.
func frames(data ...string) string {
	return "data: " + strings.Join(data, "\n\ndata: ") + "\n\n"
}

// lines returns the data as lines.
func lines(data ...string) string { return strings.Join(data, "\n") + "\n" }

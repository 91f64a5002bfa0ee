// Package dialecttest has helpers for the tests of all dialects. It plays a stream to a run (Play,
// Decode), parses a request (Input), and answers a pause (WithIDs, Resume). It reads the scenarios
// of testdata. CheckThread checks the rules that all dialects must keep. For each dialect there is
// a small Backend that behaves like the dialect's real backends. It asks a question, and its stream
// shows how it was answered.
//
// Tests that iterate over the list of dialects play these backends and run CheckThread. So existing
// tests check every dialect that is added.
//
// The package is for tests only. It knows nothing of the package proxy and of the options of
// dialects.
package dialecttest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A Backend asks one question at a time, in the way of the real backends of its dialect. It is only
// data: the caller remembers which question the backend waits for. {n} in a text stands for the
// number of the question, which makes ids unique.
type Backend struct {
	// Dialect is the name of the dialect. Form distinguishes the backends of a dialect that has
	// several. It is "" for the only one.
	Dialect, Form string
	// Environment has the variables that an operator must set in addition to HOLDPOINT_DIALECT.
	Environment map[string]string
	// MediaType is the media type of the backend's responses.
	MediaType string
	// The bodies of the backend's responses. QuestionStream ends with question n. EndStream asks no
	// question. ActedStream and DeniedStream are the responses to a request with an answer:
	// ActedStream if the backend did what it had asked about, and DeniedStream if it did not.
	QuestionStream, EndStream, ActedStream, DeniedStream string
	// Other returns the JSON response to a request that is not a run, such as a request for the
	// thread or its state. The parameter waits is the number of the question that the backend waits
	// for, or 0. The parameter n is the number of questions that it has asked. Other returns "" if
	// the request is a run. If Other is nil, every request is a run.
	Other func(method, path string, waits, n int) string
	// Yes and No are the payloads of a plain approval and a plain denial.
	Yes, No string
	// Reply is the message by which a client answers question n in the backend's own form. {yes}
	// stands for true or false. {ACCEPT|REJECT} stands for the first word in a yes, and for the
	// second word in a no. Reply is "" if clients do not answer this backend by a message, but in
	// resume.
	Reply string
	// Reads returns what the request body answers to question n. The parameter waits says that the
	// backend waits for question n, so that a request which names no question may answer it.
	Reads func(body []byte, n int, waits bool) Meaning
}

// A Meaning is what a request answers to a question.
type Meaning int

// Nothing means that the request does not answer the question. Approves means that the backend
// would act. Denies means that the backend would not act.
const (
	Nothing Meaning = iota
	Approves
	Denies
)

// Name returns a name for the backend's test: the dialect, and the form if it has one.
func (b Backend) Name() string { return strings.TrimSuffix(b.Dialect+" "+b.Form, " ") }

// hexID begins an id of 32 hex digits. {n:32} in a text stands for the whole id of question n.
const hexID = "529a97505c90b72d4bb0"

// TextFor returns the text with the number n in place of {n}, and the id of question n in place of
// {n:32}.
func TextFor(text string, n int) string {
	text = strings.ReplaceAll(text, "{n:32}", fmt.Sprintf("%s%012x", hexID, n))
	return strings.ReplaceAll(text, "{n}", strconv.Itoa(n))
}

// twoWords matches {ACCEPT|REJECT} in a Reply: the word for a yes, and the word for a no.
var twoWords = regexp.MustCompile(`\{([^{}|"]+)\|([^{}|"]+)\}`)

// ReplyMessage returns the message that answers question n with yes or no, in the backend's own
// form.
func (b Backend) ReplyMessage(n int, yes bool) string {
	word := "$2"
	if yes {
		word = "$1"
	}
	text := strings.ReplaceAll(TextFor(b.Reply, n), "{yes}", strconv.FormatBool(yes))
	return twoWords.ReplaceAllString(text, word)
}

// AskAfter returns the stream of a run that first does what the stream first does, and then asks a
// question. If the two streams cannot be joined, it returns only the question.
func (b Backend) AskAfter(first string) string {
	sep := "\n"
	if b.MediaType == eventStream {
		sep = "\n\n"
	}
	did, asks := strings.Split(first, sep), strings.Split(b.QuestionStream, sep)
	if did[0] != asks[0] {
		return b.QuestionStream // two responses that begin differently cannot be joined
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

// frames returns an event stream. Each string is the data of one event.
func frames(data ...string) string {
	return "data: " + strings.Join(data, "\n\ndata: ") + "\n\n"
}

// lines returns a text with one line for each string.
func lines(data ...string) string { return strings.Join(data, "\n") + "\n" }

// Package dialecttest has what the tests of any dialect need. It plays a stream to a run (Play,
// Decode), reads a request (Input), and answers a pause (Minted, Resume). It reads the scenarios of
// testdata. CheckThread is what must hold of any dialect. For each dialect it has a small backend
// of its family, which asks, and says what was answered.
//
// Tests that go by the list of dialects play these backends and run CheckThread. So a dialect that
// is added is held to the contract by tests that somebody else wrote.
//
// It is for tests only, and knows neither proxy nor how a dialect is made.
package dialecttest

import (
	"fmt"
	"strconv"
	"strings"
)

// A Backend pauses for one question at a time, as one of the family does. It is data: who plays it
// keeps what it is waiting for. {n} in its texts is the number of the question, and makes their ids
// unique.
type Backend struct {
	// Dialect is the name of the dialect; Form says which of its forms this is, where it has more
	// than one.
	Dialect, Form string
	// Environment is what an operator has to set, beside HOLDPOINT_DIALECT.
	Environment map[string]string
	// MediaType of its answers.
	MediaType string
	// Asks is the answer that ends in question n. Ends is that of a run that asks nothing. Did and
	// Left are those of a request that brought an answer: it carried out what it had asked about,
	// or not.
	Asks, Ends, Did, Left string
	// Beside is what the backend answers to a request that is not a run, in JSON: for its thread
	// or its state. waits is the question that it waits for, 0 if there is none; n is how many it
	// asked. It returns "" for a run. nil: every request is a run.
	Beside func(method, path string, waits, n int) string
	// Yes and No are the payloads of a plain approval and a plain denial.
	Yes, No string
	// Reply is the message by which a client answers question n in the backend's own form, with
	// {yes} in the place of true or false. "": there is no such form.
	Reply string
	// Reads is what a request says to question n. The backend waits for that question if waits is
	// set: a request that does not name it may mean it then.
	Reads func(body []byte, n int, waits bool) Word
}

// A Word is what a request says to a question.
type Word int

// Nothing: the request does not speak of it. Approves: the backend would do it. Denies: it is told
// not to.
const (
	Nothing Word = iota
	Approves
	Denies
)

// Name of the backend, for a test.
func (b Backend) Name() string { return strings.TrimSuffix(b.Dialect+" "+b.Form, " ") }

// hexID is the beginning of the ids of 32 hex digits, {n:32} in a text.
const hexID = "529a97505c90b72d4bb0"

// Numbered returns one of the texts for question n.
func Numbered(text string, n int) string {
	text = strings.ReplaceAll(text, "{n:32}", fmt.Sprintf("%s%012x", hexID, n))
	return strings.ReplaceAll(text, "{n}", strconv.Itoa(n))
}

// Replied returns the message that answers question n; yes says how.
func (b Backend) Replied(n int, yes bool) string {
	return strings.ReplaceAll(Numbered(b.Reply, n), "{yes}", strconv.FormatBool(yes))
}

// Behind returns the answer of a run that has come to first and then asks: one run, where both are.
func (b Backend) Behind(first string) string {
	sep := "\n"
	if b.MediaType == eventStream {
		sep = "\n\n"
	}
	did, asks := strings.Split(first, sep), strings.Split(b.Asks, sep)
	if did[0] != asks[0] {
		return b.Asks // nothing of such an answer tells the two apart
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

// frames returns an event stream of the data of its frames.
func frames(data ...string) string {
	return "data: " + strings.Join(data, "\n\ndata: ") + "\n\n"
}

// lines are lines of JSON.
func lines(data ...string) string { return strings.Join(data, "\n") + "\n" }

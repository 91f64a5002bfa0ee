// Package words holds what Holdpoint says itself as the result of a call. A client of .NET's
// carries out an answered call that got no result, and many backends tell none, so Holdpoint tells
// one in its own words. The words are known again by their text, so a restart forgets none; who
// tells them and who takes them out of a request is not decided here.
package words

// What Holdpoint says as the result of a call.
const (
	Approved = "Holdpoint: this was approved and handed on. The agent told no result of it."
	Denied   = "Holdpoint: this was not approved. The agent told no result of it."
	Answered = "Holdpoint: the answer was handed on. The agent told no result of it."
	InDoubt  = "Holdpoint: the answer was handed on, and it is not known whether this was done."
)

// IsOwn reports whether a text is what Holdpoint says as the result of a call.
func IsOwn(text string) bool {
	switch text {
	case Approved, Denied, Answered, InDoubt:
		return true
	}
	return false
}

package proxy

import (
	"net/http"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/intake"
)

// sendID adds the request id to the header of the request that the backend gets.
func (j *judge) sendID(out http.Header) { out[intake.RequestIDHeader] = []string{j.request.id} }

// returnID adds the request id to the header of the response, unless the backend has set an id
// there.
func (j *judge) returnID(header http.Header) {
	if header[intake.RequestIDHeader] == nil {
		header[intake.RequestIDHeader] = []string{j.request.id}
	}
}

// A loggedAnswer is an answer as the log shows it: without its payload, but with whether it
// approves or denies.
type loggedAnswer struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	Verdict string `json:"says,omitempty"` // "approved" or "denied", if the dialect can tell
	Edited  bool   `json:"edited,omitempty"`
}

// String returns the answer as a log in text format shows it.
func (a loggedAnswer) String() string {
	if a.Verdict == "" {
		return a.ID + "=" + a.Status
	}
	if a.Edited {
		return a.ID + "=" + a.Status + "," + a.Verdict + ",edited"
	}
	return a.ID + "=" + a.Status + "," + a.Verdict
}

// maxLoggedAnswers is the largest number of answers in a log line.
const maxLoggedAnswers = 32

// loggedAnswers returns the answers of the request for the log, without their payloads.
func (t *thread) loggedAnswers() []loggedAnswer {
	named := t.answers.list[:min(len(t.answers.list), maxLoggedAnswers)]
	if len(named) == 0 {
		return nil
	}
	list, read := make([]loggedAnswer, len(named)), t.readings(named)
	for n := range named {
		a := &named[n]
		list[n] = loggedAnswer{
			ID: strings.Clone(agui.Shorten(a.ID)), Status: string(a.Status), Verdict: agui.VerdictOf(a, read[n]), Edited: read[n].Edited,
		}
		if a.Status != agui.Cancelled {
			list[n].Status = string(agui.Resolved)
		}
	}
	return list
}

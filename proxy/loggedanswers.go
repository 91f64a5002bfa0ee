package proxy

import (
	"net/http"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/intake"
)

// sendID puts the id into the request to the backend.
func (j *judge) sendID(out http.Header) { out[intake.RequestIDHeader] = []string{j.request.id} }

// returnID puts the id into the answer's header, unless the backend has put one there.
func (j *judge) returnID(header http.Header) {
	if header[intake.RequestIDHeader] == nil {
		header[intake.RequestIDHeader] = []string{j.request.id}
	}
}

// A loggedAnswer is an answer as the log has it: nothing of what it says but yes or no.
type loggedAnswer struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	Says   string `json:"says,omitempty"` // approved or denied, where the dialect knows
	Edited bool   `json:"edited,omitempty"`
}

// String returns the answer in a log of text.
func (a loggedAnswer) String() string {
	if a.Says == "" {
		return a.ID + "=" + a.Status
	}
	if a.Edited {
		return a.ID + "=" + a.Status + "," + a.Says + ",edited"
	}
	return a.ID + "=" + a.Status + "," + a.Says
}

// maxLoggedAnswers bounds the answers in a line.
const maxLoggedAnswers = 32

// loggedAnswers returns the answers of the request, without what they hold.
func (t *thread) loggedAnswers() []loggedAnswer {
	named := t.answers.list[:min(len(t.answers.list), maxLoggedAnswers)]
	if len(named) == 0 {
		return nil
	}
	list, read := make([]loggedAnswer, len(named)), t.readings(named)
	for n := range named {
		a := &named[n]
		list[n] = loggedAnswer{
			ID: strings.Clone(agui.Cut(a.ID)), Status: string(a.Status), Says: agui.SaysOf(a, read[n]), Edited: read[n].Edited,
		}
		if a.Status != agui.Cancelled {
			list[n].Status = string(agui.Resolved)
		}
	}
	return list
}

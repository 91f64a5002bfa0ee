package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

// The codes of problem documents.
const (
	codeUnauthenticated = "UNAUTHENTICATED"
	codeTries           = "TOO_MANY_TRIES"
	codeConnection      = "CONNECTION_REFUSED"
	codeCrossOrigin     = "CROSS_ORIGIN"
	codeNotFound        = "NOT_FOUND"
	codeMethod          = "METHOD_NOT_ALLOWED"
	codeParameter       = "INVALID_PARAMETER"
	codeNoApproval      = "APPROVAL_NOT_FOUND"
	codeInProgress      = "RESUME_IN_PROGRESS"
	codeEnded           = "APPROVAL_ENDED"
	codeNoCall          = "CALL_NOT_FOUND"
	codeNoQuestion      = "QUESTION_NOT_FOUND"
	codeNoDigest        = "DIGEST_REQUIRED"
	codeDigest          = "QUESTION_CHANGED"
	codeNotKnown        = "DECISION_NOT_KNOWN"
	codeNoPlace         = "REASON_NOT_TAKEN"
	codeDecided         = "DECIDED_OTHERWISE"
	codeElsewhere       = "AGENT_ELSEWHERE"
	codeMediaType       = "UNSUPPORTED_MEDIA_TYPE"
	codeStore           = "STORE_UNAVAILABLE"
	codeAudit           = "AUDIT_UNAVAILABLE"
	codeUnread          = "RECORD_UNREADABLE"
	codeForbidden       = "FORBIDDEN"
	codeForged          = "HEADER_NOT_TRUSTED"
	codeKeys            = "KEYS_UNAVAILABLE"
	codeChanges         = "TOO_MANY_DECISIONS"
	codeNoSessions      = "NO_SESSIONS"
	codeNoTLS           = "TLS_REQUIRED"
	codeAnother         = "ANOTHER_CALLER"
)

// A problem is a problem document (RFC 9457), the response to a request that is refused.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Code   string `json:"code"`
	// Auth is the way in which the caller must authenticate. It is set if the caller is unknown.
	Auth string `json:"auth,omitempty"`
	// Approval is the approval that the problem is about, in its current state.
	Approval *approval `json:"approval,omitempty"`
}

func refuse(w http.ResponseWriter, status int, code, detail string) {
	refuseWith(w, status, code, detail, nil)
}

func refuseWith(w http.ResponseWriter, status int, code, detail string, a *approval) {
	refuseProblem(w, problem{Status: status, Detail: detail, Code: code, Approval: a})
}

func refuseProblem(w http.ResponseWriter, p problem) {
	w.Header().Set("Content-Type", "application/problem+json")
	p.Type, p.Title = "about:blank", http.StatusText(p.Status)
	respond(w, p.Status, p)
}

// refuseStore responds that the store did not reply, or that a record cannot be read.
func (d *Desk) refuseStore(w http.ResponseWriter, err error) {
	d.log.Error(logStoreAway, "err", err)
	if errors.Is(err, store.ErrUnread) {
		refuse(w, http.StatusInternalServerError, codeUnread, textRecordUnread)
		return
	}
	w.Header().Set("Retry-After", "1")
	refuse(w, http.StatusServiceUnavailable, codeStore, textStoreAway)
}

// A storeTimeWriter adds the store's time to each response. Pages compute ages and remaining times
// from it, because their own clocks may be wrong.
type storeTimeWriter struct {
	http.ResponseWriter
	now func() time.Time
}

// Unwrap lets http.ResponseController find the wrapped ResponseWriter.
func (t storeTimeWriter) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// storeTime returns the store's time. It adds the last known difference of the clocks to the time
// of this process.
func (d *Desk) storeTime() time.Time { return d.opts.Now().Add(time.Duration(d.clockAhead.Load())) }

// respond sends the object v as a JSON response.
func respond(w http.ResponseWriter, status int, v any) {
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	text, err := json.Marshal(v)
	if err != nil { // does not happen: every response can be marshalled
		status, text = http.StatusInternalServerError, []byte(`{"type":"about:blank","title":"Internal Server Error","status":500,"detail":"","code":"`+codeUnread+`"}`)
	}
	if t, ok := w.(storeTimeWriter); ok {
		stamp := append([]byte(`{"now":`), agui.MustMarshal(t.now().UTC())...)
		if text[1] != '}' {
			stamp = append(stamp, ',')
		}
		text = append(stamp, text[1:]...)
	}
	// With a Content-Length the response is complete before the handler returns. So the client does
	// not wait for the records that are written after the response.
	w.Header().Set("Content-Length", strconv.Itoa(len(text)+1))
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // fails only if the caller has left
}

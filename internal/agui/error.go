package agui

import (
	"fmt"
	"strings"
)

// Code is the `code` of a RUN_ERROR that Holdpoint writes. AG-UI defines no codes. If
// integrations/aws-strands of ag-ui has a code that fits, Holdpoint uses its name.
type Code string

// The codes that every dialect uses. A dialect may also have codes of its own. For each code,
// docs/errors.md describes what happened and what a client can do.
const (
	PendingInterrupts    Code = "PENDING_INTERRUPTS"
	PartialResume        Code = "PARTIAL_RESUME"
	UnknownInterruptID   Code = "UNKNOWN_INTERRUPT_ID"
	ResumeConflict       Code = "RESUME_CONFLICT"
	ResumeInProgress     Code = "RESUME_IN_PROGRESS"
	ResumeInDoubt        Code = "RESUME_IN_DOUBT"
	InvalidPayload       Code = "INVALID_PAYLOAD"
	ApprovalUncertain    Code = "APPROVAL_UNCERTAIN"
	ApprovalAmbiguous    Code = "APPROVAL_AMBIGUOUS"
	InterruptExpired     Code = "INTERRUPT_EXPIRED"
	BackendLostInterrupt Code = "BACKEND_LOST_INTERRUPT"
	ThreadBusy           Code = "THREAD_BUSY"
	ThreadForbidden      Code = "THREAD_FORBIDDEN"
	MessagesNotTaken     Code = "MESSAGES_NOT_TAKEN"
	StoreUnavailable     Code = "STORE_UNAVAILABLE"
	StoreFull            Code = "STORE_FULL"
	AuditUnavailable     Code = "AUDIT_UNAVAILABLE"
	PauseTooLarge        Code = "PAUSE_TOO_LARGE"
	UpstreamUnreachable  Code = "UPSTREAM_UNREACHABLE"
	UpstreamStatus       Code = "UPSTREAM_STATUS"
	UpstreamEOF          Code = "UPSTREAM_EOF"
	UpstreamIdle         Code = "UPSTREAM_IDLE"
	FrameTooLarge        Code = "FRAME_TOO_LARGE"
	UnsupportedEncoding  Code = "UNSUPPORTED_ENCODING"
	ClientLeft           Code = "CLIENT_LEFT"
	ProxyDraining        Code = "PROXY_DRAINING"
	InternalError        Code = "INTERNAL_ERROR"
)

// Codes returns the codes that every dialect uses.
func Codes() []Code {
	return []Code{
		PendingInterrupts, PartialResume, UnknownInterruptID, ResumeConflict,
		ResumeInProgress, ResumeInDoubt, InvalidPayload, ApprovalUncertain,
		ApprovalAmbiguous, InterruptExpired, BackendLostInterrupt, ThreadBusy,
		ThreadForbidden, MessagesNotTaken, StoreUnavailable, StoreFull,
		AuditUnavailable, PauseTooLarge, UpstreamUnreachable, UpstreamStatus,
		UpstreamEOF, UpstreamIdle, FrameTooLarge, UnsupportedEncoding,
		ClientLeft, ProxyDraining, InternalError,
	}
}

// A RunError is the content of a RUN_ERROR event. Message is for the developer of the client. It
// contains no text of the backend, no payload and no internal address.
type RunError struct {
	Code    Code
	Message string
}

func (e *RunError) Error() string { return string(e.Code) + ": " + e.Message }

// Errorf returns a RunError with a formatted message.
func Errorf(code Code, format string, args ...any) *RunError {
	return &RunError{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Shorten prepares a client's text, such as an id, for an error message or a log line: it cuts a
// text of more than 200 bytes.
func Shorten(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}

// Event returns the RUN_ERROR event. The code may be empty if the error is the backend's own.
func (e *RunError) Event() Event {
	return NewEvent(MustMarshal(struct {
		Type    Type   `json:"type"`
		Message string `json:"message"`
		Code    Code   `json:"code,omitempty"`
	}{RunErrored, e.Message, e.Code}))
}

package agui

import (
	"fmt"
	"strings"
)

// Code is the `code` of a RUN_ERROR that Holdpoint writes. AG-UI defines no codes. Where they fit,
// the names are those of ag-ui's integrations/aws-strands.
type Code string

// The codes of all dialects. A dialect may have codes of its own. docs/errors.md lists what
// happened and what a client can do for each.
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

// Codes returns the codes of all dialects.
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

// A RunError is a RUN_ERROR before it is sent. Message is for the developer of the client. It
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

// Shorten returns a client's text, such as an id, for an error message or a log line. It shortens a
// long text.
func Shorten(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}

// Event returns the RUN_ERROR event. Code may be empty in an error of the backend.
func (e *RunError) Event() Event {
	return NewEvent(MustMarshal(struct {
		Type    Type   `json:"type"`
		Message string `json:"message"`
		Code    Code   `json:"code,omitempty"`
	}{RunErrored, e.Message, e.Code}))
}

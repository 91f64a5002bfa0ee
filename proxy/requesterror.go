package proxy

import "net/http"

// A requestError is a request that is refused with an HTTP status before it is a run.
type requestError struct {
	status int
	reason string
}

func (e *requestError) Error() string { return e.reason }

func unsupported(reason string) *requestError {
	return &requestError{http.StatusUnsupportedMediaType, reason}
}

package injector

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"

	"holdpoint/internal/inject"
)

const (
	// maxReview is the largest admission review that is read, in bytes. It is above the limits of
	// an API server, which stores objects of at most 1.5 MiB and accepts requests of 3 MiB.
	maxReview = 4 << 20
	// maxReviews is how many reviews are handled at the same time. Further reviews wait.
	maxReviews = 16
)

// Handler returns the handler for the admission reviews of API servers and the kubelet's probes.
// The probe /readyz succeeds if ready returns true.
func Handler(i *inject.Injector, ready func() bool, logger *slog.Logger) http.Handler {
	w := &webhook{injector: i, logger: logger, slots: make(chan struct{}, maxReviews)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /inject", w.review)
	mux.HandleFunc("GET /healthz", func(rw http.ResponseWriter, _ *http.Request) { respond(rw, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(rw http.ResponseWriter, _ *http.Request) {
		if !ready() {
			respond(rw, http.StatusServiceUnavailable, textNotReady)
			return
		}
		respond(rw, http.StatusOK, "ok")
	})
	return mux
}

type webhook struct {
	injector *inject.Injector
	logger   *slog.Logger
	slots    chan struct{}
}

// review handles one admission review: it reads the pod and responds with the changes to it.
func (w *webhook) review(rw http.ResponseWriter, req *http.Request) {
	if kind, _, err := mime.ParseMediaType(req.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		respond(rw, http.StatusUnsupportedMediaType, textWantReview)
		return
	}
	select {
	case w.slots <- struct{}{}:
		defer func() { <-w.slots }()
	case <-req.Context().Done():
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(rw, req.Body, maxReview))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		respond(rw, http.StatusRequestEntityTooLarge, fmt.Sprintf(textReviewTooLarge, maxReview))
		return
	}
	if err != nil {
		respond(rw, http.StatusBadRequest, textReviewUnread)
		return
	}
	a, err := w.injector.Review(body)
	if err != nil {
		w.logger.Warn(logNotReview, "err", err)
		respond(rw, http.StatusBadRequest, err.Error())
		return
	}
	w.log(a)
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(http.StatusOK)
	rw.Write(a.Body)
}

// log logs the outcome for a pod. It also logs the warnings, because a controller that creates pods
// shows its warnings to nobody.
func (w *webhook) log(a *inject.Answer) {
	args := []any{"namespace", a.Namespace, "pod", a.Name, "dry_run", a.DryRun}
	for _, warning := range a.Warnings {
		w.logger.Warn(logPodWarning, append(args, "warning", warning)...)
	}
	switch a.Outcome {
	case inject.Injected:
		w.logger.Info("a pod got its sidecar", args...)
	case inject.Refused:
		w.logger.Warn(logPodRefused, append(args, "reason", a.Reason)...)
	default:
		w.logger.Debug("a pod stays as it is", append(args, "reason", a.Reason)...)
	}
}

func respond(rw http.ResponseWriter, code int, text string) {
	rw.Header().Set("Content-Type", "text/plain; charset=utf-8")
	rw.Header().Set("X-Content-Type-Options", "nosniff")
	rw.WriteHeader(code)
	io.WriteString(rw, text+"\n") //nolint:errcheck // whoever asked is gone
}

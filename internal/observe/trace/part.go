package trace

import (
	"context"
	"log/slog"
	"os"
	"time"
)

// stopTimeout is how long the last spans may take at the end. The grace period has 5s for the end
// after the drain, and ending the streams takes up to 4s of them.
const stopTimeout = 750 * time.Millisecond

// A Part creates spans until Stop.
type Part struct {
	*Tracer
	logger *slog.Logger
}

// NewPart creates a Part, or returns nil if the variables of OpenTelemetry name no endpoint for
// spans.
func NewPart(version string, logger *slog.Logger) (*Part, error) {
	if !Enabled(os.Getenv) {
		return nil, nil
	}
	if err := CheckProtocol(os.Getenv); err != nil {
		return nil, err
	}
	t, err := New(context.Background(), version, logger)
	if err != nil {
		return nil, err
	}
	logger.Info("spans are sent by OTLP")
	return &Part{t, logger}, nil
}

// Stop sends the last spans, and gives up after stopTimeout.
func (p *Part) Stop() {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if err := p.Shutdown(ctx); err != nil {
		p.logger.Warn(logLastSpans, "err", err)
	}
}

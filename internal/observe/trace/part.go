package trace

import (
	"context"
	"log/slog"
	"os"
	"time"
)

// stopTimeout bounds how long Stop waits for the last spans. After the drain, the grace period has
// 5s left, and up to 4s of them are needed to end the streams.
const stopTimeout = 750 * time.Millisecond

// A Part creates spans, and sends them until Stop is called.
type Part struct {
	*Tracer
	logger *slog.Logger
}

// NewPart creates a Part. It returns nil if no environment variable of OpenTelemetry sets an
// endpoint for spans.
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

// Stop sends the last spans. It gives up after stopTimeout.
func (p *Part) Stop() {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if err := p.Shutdown(ctx); err != nil {
		p.logger.Warn(logLastSpans, "err", err)
	}
}

package trace

import (
	"context"
	"log/slog"
	"os"
	"time"
)

// lastWords is how long the last spans may take at the end. The grace period has 5s beside the
// delay and the timeout, and the streams' own end has four of them.
const lastWords = 750 * time.Millisecond

// A Part makes spans until Stop.
type Part struct {
	*Tracer
	logger *slog.Logger
}

// NewPart makes it, or returns nil if OpenTelemetry's variables do not say where to send spans.
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

// Stop sends the last spans.
func (p *Part) Stop() {
	ctx, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	if err := p.Shutdown(ctx); err != nil {
		p.logger.Warn("the last spans were not sent", "err", err)
	}
}

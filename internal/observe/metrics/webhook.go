package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// webhookResults are what becomes of an event for the webhook, or of a try to send it.
var webhookResults = []string{"sent", "failed", "refused", "lost"}

// webhookCollector are the counters of the webhook.
type webhookCollector struct {
	results *prometheus.CounterVec
	waited  prometheus.Gauge
}

func (m *Metrics) newHooked() webhookCollector {
	return webhookCollector{
		m.counters("webhook_events_total", "Events for the webhook: sent, refused for good, given up unsent (lost); and tries that failed and are made again (failed).", "result"),
		m.gauge("webhook_waited_seconds", "How long the event had waited that was tried last and failed; 0 once one is taken."),
	}
}

// Webhook counts a try to send an event that has waited for so long, or one that was given up.
func (m *Metrics) Webhook(result string, waited time.Duration) {
	m.hooked.results.WithLabelValues(knownOrOther(webhookResults, result)).Inc()
	switch result {
	case "failed":
		m.hooked.waited.Set(waited.Seconds())
	case "sent", "refused":
		m.hooked.waited.Set(0)
	}
}

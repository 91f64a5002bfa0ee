package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// webhookResults are the values of the label result: the results of an attempt to send an event,
// and "lost" for an event that will not be sent.
var webhookResults = []string{"sent", "failed", "refused", "lost"}

// webhookCollector contains the metrics of the webhook.
type webhookCollector struct {
	results *prometheus.CounterVec
	delay   prometheus.Gauge
}

func (m *Metrics) newWebhook() webhookCollector {
	return webhookCollector{
		m.counters("webhook_events_total", "Events for the webhook that were sent, refused by the receiver for good (refused), or given up unsent (lost); and tries that failed and are repeated (failed).", "result"),
		m.gauge("webhook_waited_seconds", "How long the event of the last failed try has waited; 0 once the receiver accepts an event."),
	}
}

// CountNotice counts the result of one attempt to send an event, or one event that will not be
// sent. waited is how long the event has waited.
func (m *Metrics) CountNotice(result string, waited time.Duration) {
	m.webhook.results.WithLabelValues(knownOrOther(webhookResults, result)).Inc()
	switch result {
	case "failed":
		m.webhook.delay.Set(waited.Seconds())
	case "sent", "refused":
		m.webhook.delay.Set(0)
	}
}

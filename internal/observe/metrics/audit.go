package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"holdpoint/internal/observe/audit"
)

var (
	auditSeq    = prometheus.NewDesc("holdpoint_audit_seq", "The place of the audit's last line in its chain, 0 if there is no audit.", nil, nil)
	auditHead   = prometheus.NewDesc("holdpoint_audit_head", "The first 13 hex digits of the hash of the audit's last line, as a number; 0 if there is no audit.", nil, nil)
	auditFailed = prometheus.NewDesc("holdpoint_audit_failed_total", "Events that could not be written into the audit.", nil, nil)
)

// auditCollector exports the head of the audit as metrics. It reads the head once for all of them,
// so that the number of the line and the hash belong to the same line.
type auditCollector struct{ head func() audit.Head }

// Describe implements prometheus.Collector.
func (a auditCollector) Describe(to chan<- *prometheus.Desc) {
	to <- auditSeq
	to <- auditHead
	to <- auditFailed
}

// Collect implements prometheus.Collector.
func (a auditCollector) Collect(to chan<- prometheus.Metric) {
	head := a.head()
	to <- prometheus.MustNewConstMetric(auditSeq, prometheus.GaugeValue, float64(head.Seq))
	to <- prometheus.MustNewConstMetric(auditHead, prometheus.GaugeValue, head.Number())
	to <- prometheus.MustNewConstMetric(auditFailed, prometheus.CounterValue, float64(head.FailedEvents))
}

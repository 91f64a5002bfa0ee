// Package metrics counts what Holdpoint does, for Prometheus.
//
// The package does not observe a run while the run continues. It counts the open runs, and gets the
// numbers of each run when the run ends. So the package costs nothing for each frame. Values of
// labels come from fixed lists, or are names of agents from the configuration. They are never ids
// or texts that a client or a backend chose. Names follow
// https://prometheus.io/docs/practices/naming/.
//
// docs/operations.md has a table of all metrics. A test compares that table with the registry.
package metrics

import (
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"holdpoint/internal/event"
	"holdpoint/internal/observe/audit"
)

// Other replaces the value of a label if that value is not in the label's list.
const Other = "other"

// none is the value of the label dialect for a run that was not translated.
const none = "none"

// Options configure Metrics.
type Options struct {
	Version  string
	Dialects []string // the names of all dialects
	Codes    []string // the codes of all refusals
	// Agents are the names of the agents that the process serves. An agent without a name is "".
	// Nil means one agent without a name.
	Agents []string
	// Retention is how long the store keeps an open pause that gets no answer.
	Retention time.Duration
	// Head returns the head of the audit. It is nil if there is no audit.
	Head func() audit.Head
}

// Metrics are the metrics of a process, in a Prometheus registry of their own. Their methods are
// safe for concurrent use.
type Metrics struct {
	opts     Options
	registry *prometheus.Registry

	runs           *prometheus.CounterVec
	duration       *prometheus.HistogramVec
	firstByte      *prometheus.HistogramVec
	frames         *prometheus.CounterVec
	upstream       *prometheus.CounterVec
	pausesRaised   *prometheus.CounterVec
	pausesEnded    *prometheus.CounterVec
	resumes        *prometheus.CounterVec
	refusals       *prometheus.CounterVec
	waitingThreads prometheus.Gauge
	oldestThread   prometheus.Gauge
	doubtThreads   prometheus.Gauge
	doubts         doubts
	steps          *prometheus.HistogramVec
	failures       *prometheus.CounterVec
	storeUp        prometheus.Gauge
	evictions      *prometheus.CounterVec
	webhook        webhookCollector
	open           *openRuns
}

var _ event.Sink = (*Metrics)(nil)

// New creates Metrics and registers them in their registry.
func New(o Options) *Metrics {
	if o.Agents == nil {
		o.Agents = []string{""}
	}
	m := &Metrics{opts: o, registry: prometheus.NewRegistry()}
	m.runs = m.counters("runs_total", "Runs that have ended.", "agent", "dialect", "outcome")
	m.duration = m.histograms("run_duration_seconds", "From a run's request to its end.", longTimes, "agent")
	m.firstByte = m.histograms("first_byte_seconds", "From a run's request to the first bytes of its stream, for runs that reached a backend.", shortTimes, "agent")
	m.frames = m.counters("frames_total", "Frames of runs that have ended: from the backend (passed, rewritten, dropped) and Holdpoint's own (made).", "agent", "kind")
	m.upstream = m.counters("upstream_errors_total", "Runs whose backend failed, by how the last exchange with it ended.", "agent", "class")
	m.pausesRaised = m.counters("interrupts_raised_total", "Questions that were kept and sent to a client.", "agent", "dialect")
	m.pausesEnded = m.counters("interrupts_ended_total", "Questions that have ended.", "agent", "how")
	m.resumes = m.counters("resumes_total", "Requests with answers, by their result.", "agent", "result")
	m.refusals = m.counters("refusals_total", "Runs that were refused.", "agent", "code")
	m.waitingThreads = m.gauge("pauses_waiting", "Threads in the store that wait for an answer, 20,000 at most. Every replica reports the same number.")
	m.oldestThread = m.gauge("pause_oldest_seconds", "How long the oldest open question in the store has waited; 0 if there is none.")
	m.doubtThreads = m.gauge("pauses_in_doubt", "Threads as in holdpoint_pauses_waiting whose answer was sent and is in doubt: no client has come back to be told. Every replica reports the same number.")
	m.steps = m.histograms("store_step_seconds", "Time of a step of the store.", shortTimes, "step")
	m.failures = m.counters("store_errors_total", "Steps of the store that failed, or whose reply was lost.", "step")
	m.storeUp = m.gauge("store_up", "1 if the store answered when Holdpoint last asked it, which it does every two seconds; else 0.")
	m.evictions = m.counters("store_evictions_total", "What the store in memory dropped to make room: results of answered questions, or snapshots of open ones.", "what")
	m.webhook = m.newWebhook()
	m.open = newOpenRuns()
	m.registry.MustRegister(m.open)
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	build := m.gauges("build_info", "1, with the version of Holdpoint as the label.", "version")
	build.WithLabelValues(o.Version).Set(1)
	if o.Head != nil {
		m.registry.MustRegister(auditCollector{o.Head})
	}
	m.createCounters()
	return m
}

// These are the buckets of the histograms, in seconds. shortTimes are for a step of the store and
// for the first byte of a stream. longTimes are for a run, which lasts from milliseconds to hours.
var (
	shortTimes = []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}
	longTimes  = []float64{0.01, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600}
)

// These are the values of the labels. A value that is not in its list is counted as Other.
var (
	Outcomes      = []string{"finished", "interrupt", "interrupt again", "replay", "refused", "error", "client left", "http status", "nothing to answer"}
	Kinds         = []string{"passed", "rewritten", "dropped", "made"}
	Classes       = []string{"unreachable", "eof", "idle", "status_4xx", "status_5xx", "no_stream", "frame_too_large", "encoding", "untranslated", "run_error"}
	endKinds      = []string{"resolved", "cancelled", "expired", "lost", "withdrawn", "retired"}
	resumeResults = []string{"claimed", "released", "in_doubt", "replayed", "refused"}
	storeSteps    = []string{"load", "open", "claim", "renew", "finish", "release", "close", "occupy", "snapshots", "waiting", "decide", "contest", "see", "remember"}
	evictionKinds = []string{"results", "snapshots"}
)

// createCounters creates the counters of all known label values with the value 0. Otherwise
// Prometheus would not see the first event as an increase.
func (m *Metrics) createCounters() {
	for v, list := range map[*prometheus.CounterVec][]string{m.failures: storeSteps, m.evictions: evictionKinds, m.webhook.results: webhookResults} {
		for _, value := range list {
			v.WithLabelValues(value)
		}
	}
	for _, agent := range m.opts.Agents {
		m.duration.WithLabelValues(agent)
		m.firstByte.WithLabelValues(agent)
		for v, list := range map[*prometheus.CounterVec][]string{
			m.frames: Kinds, m.upstream: Classes, m.pausesEnded: endKinds, m.resumes: resumeResults, m.refusals: m.opts.Codes, m.pausesRaised: m.opts.Dialects,
		} {
			for _, value := range list {
				v.WithLabelValues(agent, value)
			}
		}
	}
}

func (m *Metrics) counters(name, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "holdpoint", Name: name, Help: help}, labels)
	m.registry.MustRegister(v)
	return v
}

func (m *Metrics) gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "holdpoint", Name: name, Help: help}, labels)
	m.registry.MustRegister(v)
	return v
}

func (m *Metrics) gauge(name, help string) prometheus.Gauge {
	return m.gauges(name, help).WithLabelValues()
}

func (m *Metrics) histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "holdpoint", Name: name, Help: help, Buckets: buckets}, labels)
	m.registry.MustRegister(h)
	return h
}

// Handler returns the handler of /metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Registry returns the registry of all metrics.
func (m *Metrics) Registry() prometheus.Gatherer { return m.registry }

// knownOrOther returns value if list contains it, and otherwise Other.
func knownOrOther(list []string, value string) string {
	if slices.Contains(list, value) {
		return value
	}
	return Other
}

// CountRun counts a run that has ended.
func (m *Metrics) CountRun(r *event.Run) {
	agent, dialect := knownOrOther(m.opts.Agents, r.Agent), none
	if r.Dialect != "" {
		dialect = knownOrOther(m.opts.Dialects, r.Dialect)
	}
	m.runs.WithLabelValues(agent, dialect, knownOrOther(Outcomes, r.Outcome)).Inc()
	m.duration.WithLabelValues(agent).Observe(r.Duration.Seconds())
	if r.TimeToFirstByte > 0 {
		m.firstByte.WithLabelValues(agent).Observe(r.TimeToFirstByte.Seconds())
	}
	if r.Upstream != "" {
		m.upstream.WithLabelValues(agent, knownOrOther(Classes, r.Upstream)).Inc()
	}
	for n, count := range []int{r.PassedFrames, r.RewrittenFrames, r.DroppedFrames, r.MadeEvents} {
		if count > 0 {
			m.frames.WithLabelValues(agent, Kinds[n]).Add(float64(count))
		}
	}
}

// CountEviction counts one thing that the store in memory has removed to make room. what is results
// or snapshots.
func (m *Metrics) CountEviction(what string) {
	m.evictions.WithLabelValues(knownOrOther(evictionKinds, what)).Inc()
}

// Take implements event.Sink. It never fails.
func (m *Metrics) Take(e *event.Event) error {
	agent, questions := knownOrOther(m.opts.Agents, e.Agent), float64(len(e.Interrupts))
	switch e.Kind {
	case event.Raised:
		m.pausesRaised.WithLabelValues(agent, knownOrOther(m.opts.Dialects, e.Dialect)).Add(questions)
	case event.Resolved, event.Cancelled, event.Expired, event.Lost, event.Withdrawn, event.Retired:
		m.pausesEnded.WithLabelValues(agent, string(e.Kind)[len("interrupt."):]).Add(questions)
	case event.Claimed, event.Released, event.InDoubt, event.Replayed:
		m.resumes.WithLabelValues(agent, string(e.Kind)[len("resume."):]).Inc()
	case event.Refused:
		m.resumes.WithLabelValues(agent, "refused").Inc()
		m.refusals.WithLabelValues(agent, knownOrOther(m.opts.Codes, e.Code)).Inc()
	case event.RunRefused:
		m.refusals.WithLabelValues(agent, knownOrOther(m.opts.Codes, e.Code)).Inc()
	}
	return nil
}

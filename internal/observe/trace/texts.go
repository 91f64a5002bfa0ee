package trace

// Log lines for the operator. The comments above them are the table of docs/warnings.md.
const (
	// The process ended before its last spans reached the collector. Runs are not affected; the
	// traces of the last runs may be incomplete.
	logLastSpans = "the last spans were not sent"

	// A part of OTEL_RESOURCE_ATTRIBUTES does not have the form name=value and was ignored. Correct
	// the variable.
	logAttributes = "OTEL_RESOURCE_ATTRIBUTES is read in part: want name=value,name=value"

	// The collector cannot be reached or refuses the spans. Runs continue without traces. It is
	// logged once a minute at most: look at err and at the collector.
	logCannotSend = "spans cannot be sent"
)

// What is wrong with an OTEL_ variable.
const textOnlyHTTP = "%s %q: spans are sent by http/protobuf only"

// The description of a link between two spans.
const textInterruptedRun = "interrupted run"

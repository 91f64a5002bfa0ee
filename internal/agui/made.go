package agui

import (
	"encoding/json"
	"slices"
)

// StartedEvent returns a RUN_STARTED. An empty version is left out.
func StartedEvent(thread, run, version string) Event {
	return NewEvent(MustMarshal(struct {
		Type     Type   `json:"type"`
		ThreadID string `json:"threadId"`
		RunID    string `json:"runId"`
		Version  string `json:"protocolVersion,omitempty"`
	}{RunStarted, thread, run, version}))
}

// FinishedEvent returns a RUN_FINISHED without an outcome.
func FinishedEvent(thread, run string) Event {
	return NewEvent(MustMarshal(struct {
		Type     Type   `json:"type"`
		ThreadID string `json:"threadId"`
		RunID    string `json:"runId"`
	}{RunFinished, thread, run}))
}

// SnapshotEvent returns a MESSAGES_SNAPSHOT. list is a JSON array, without line breaks between its
// tokens.
func SnapshotEvent(list json.RawMessage) Event {
	return NewEvent(slices.Concat([]byte(`{"type":"MESSAGES_SNAPSHOT","messages":`), list, []byte("}")))
}

package kit

import (
	"encoding/json"
	"testing"

	"holdpoint/internal/agui"
)

func TestDenies(t *testing.T) {
	for payload, want := range map[string]bool{
		``: false, `null`: false, `true`: false, `false`: true, `0`: false, `""`: false, `"yes"`: false, `"always"`: false, `[]`: false, `{}`: false,
		`"No"`: true, `"n"`: true, `"deny"`: true, `"reject it, no"`: false,
		`{"approved":false}`: true, `{"approved":true}`: false, `{"accepted":false}`: true, `{"confirmed":false,"reason":"x"}`: true,
		`{"approved":"false"}`: false, `{"approved":0}`: false, `{"approved":null}`: false,
		`{"approved":false,"Approved":true}`: false, `{"approved":false,"approved":true}`: false, `{"approved":false,"accepted":true}`: false,
		`{"type":"reject"}`: true, `{"type":"approve"}`: false, `{"type":"edit"}`: false,
		`{"decisions":[{"type":"reject"},{"type":"reject"}]}`: true, `{"decisions":[{"type":"reject"},{"type":"approve"}]}`: false, `{"decisions":[]}`: false,
		`[{"type":"ignore","args":null}]`: true, `[{"type":"ignore"},{"type":"accept"}]`: false, `{"decision":"reject"}`: true, `{"cancelled":true}`: true,
		`{"decisions":[{"type":"reject"},{"type":"respond"}]}`: false, `"notes.txt"`: false, `{"count":1}`: false, `{"why":"no"}`: false,
		// A text that instructs the agent, such as "stop", is not a denial.
		`"stop"`: false, `"cancel"`: false, `"Abort"`: false, `"ignore"`: false, `{"cancel":true}`: false, `{"stop":true}`: false, `["cancel"]`: false, `{"declined":true}`: true,
		`{"type":"cancel"}`: true, `{"action":"cancel"}`: true, `"cancelled"`: true, `{"deny":true}`: true,
		`{"approved":false,"accept":{"a":1}}`: false, `{"type":"reject","approved":true}`: false,
		`{"decisions":[{"type":"approve"}],"type":"reject"}`: false, `{"decisions":[{"type":"approve"}],"approved":false}`: false,
	} {
		if got := Denies(agui.Answer{Status: agui.Resolved, Payload: json.RawMessage(payload)}); got != want {
			t.Errorf("%s: %v", payload, got)
		}
	}
	if !Denies(agui.Answer{Status: agui.Cancelled, Payload: json.RawMessage(`{"approved":true}`)}) {
		t.Error("a cancelled answer is none")
	}
}

func TestApproves(t *testing.T) {
	for payload, want := range map[string]bool{
		``: false, `null`: false, `true`: true, `false`: false, `1`: false, `"yes"`: true, `"OK"`: true, `"no"`: false, `"perhaps"`: false, `{}`: false, `[true]`: false,
		`{"approved":true}`: true, `{"approved":true,"comment":"fine"}`: true, `{"approved":false}`: false, `{"approved":"true"}`: false,
		`{"approved":true,"accepted":false}`: false, `{"approved":true,"type":"reject"}`: false, `{"answer":42}`: false,
	} {
		if got := Approves([]byte(payload)); got != want {
			t.Errorf("%s: %v", payload, got)
		}
	}
}

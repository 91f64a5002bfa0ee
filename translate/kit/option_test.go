package kit

import (
	"testing"
)

func TestDeniesOnly(t *testing.T) {
	for text, want := range map[string]bool{
		`false`: true, `0`: true, `"no"`: true, `{"cancelled":true}`: true, `{"approved":false}`: true, `{"type":"reject","x":[false]}`: true,
		`true`: false, `1`: false, `"Yes"`: false, `" ok "`: false, `{"approved":true}`: false, `{"a":{"accept":{}}}`: false, `[false,"go","proceed"]`: false,
		`null`: false, `""`: false, `{}`: false, `[]`: false, `{`: false, ``: false, `no`: false,
		`"cancelled"`: true, `{"status":"cancelled","why":["user"]}`: true, `{"approved":null}`: true,
		`"Approve"`: false, `[true]`: false, `{"approved":1}`: false, `{"accepted":"no"}`: false, `{"type":"approve"}`: false,
		`{"a":{"b":[{"confirmed":true}]}}`: false, `{"cancelled":true,"decision":"accept"}`: false, `{"approved":false,"approved":true}`: false,
	} {
		if err := JSON(text).DeniesOnly(); (err == nil) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestTextDeniesOnly(t *testing.T) {
	for text, want := range map[string]bool{
		"No. Do not do it.": true, "Nein, lass es.": true, "non": true,
		"": false, "--": false, "YES": false, "ok": false, "ok, no": false, " Go on, I approve ": false,
	} {
		if err := Text(text).DeniesOnly(); (err == nil) != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}

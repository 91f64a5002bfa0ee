package translate

import "testing"

func TestDeniesOnly(t *testing.T) {
	for text, want := range map[string]bool{
		`false`: true, `0`: true, `"no"`: true, `{"cancelled":true}`: true, `{"approved":false}`: true, `{"type":"reject","x":[false]}`: true,
		`true`: false, `1`: false, `"Yes"`: false, `" ok "`: false, `{"approved":true}`: false, `{"a":{"accept":{}}}`: false, `[false,"go","proceed"]`: false,
		`null`: false, `""`: false, `{}`: false, `[]`: false, `{`: false, ``: false,
	} {
		if err := JSON(text).DeniesOnly(); (err == nil) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

package agui

import "testing"

// TestExpires: expiresAt counts only if it is a time that a record and a response can contain.
func TestExpires(t *testing.T) {
	for text, want := range map[string]bool{
		"2026-11-29T10:00:00Z": true, "2026-11-29T10:00:00.123456789+23:59": true, "9999-12-31T23:59:59-23:59": true, "0000-01-01T00:00:00Z": true,
		"": false, "tomorrow": false, "2026-11-29": false, "10000-01-01T00:00:00Z": false,
		"2026-11-29T10:00:00+24:00": false, "2026-11-29T10:00:00-24:00": false, "2026-11-29T10:00:00+23:60": false,
	} {
		at, is := Interrupt{Object: SetString([]byte(`{}`), "expiresAt", text)}.Expires()
		if _, err := at.MarshalJSON(); is != want || err != nil || is == at.IsZero() {
			t.Errorf("%q is %v, %v, %v", text, at, is, err)
		}
	}
}

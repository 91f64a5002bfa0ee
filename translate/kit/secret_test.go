package kit

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestWantsSecret(t *testing.T) {
	deep := strings.Repeat(`{"properties":{"a":`, 300) + `{"writeOnly":true}` + strings.Repeat(`}}`, 300)
	for schema, want := range map[string]bool{
		"": false, `{}`: false, `{"type":"string"}`: false,
		`{"type":"string","format":"password"}`:                                             true,
		`{"type":"object","properties":{"key":{"type":"string","writeOnly":true}}}`:         true,
		`{"anyOf":[{"type":"null"},{"$ref":"#/$defs/a"}],"$defs":{"a":{"writeOnly":true}}}`: true,
		`{"type":"string","f\u006frmat":"p\u0061ssword"}`:                                   true,
		`{"type":"string","writeOnly":false}`:                                               false,
		`{"type":"object","properties":{"password":{"type":"string"}}}`:                     false,
		`{"type":"string","title":"password","description":"writeOnly"}`:                    false,
		deep: true,
		`{"enum":["password"` + strings.Repeat(`,0`, maxSchemaValues) + `]}`: true, // too many values
	} {
		if got := WantsSecret(json.RawMessage(schema)); got != want {
			t.Errorf("%.80s: %v", schema, got)
		}
	}
}

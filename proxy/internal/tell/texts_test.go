package tell

import (
	"os"
	"regexp"
	"testing"

	"holdpoint/internal/agui"
)

// TestEveryCodeHasWords: a person is told more than the general text for each code of Holdpoint's.
func TestEveryCodeHasWords(t *testing.T) {
	src, err := os.ReadFile("../../../internal/agui/error.go")
	if err != nil {
		t.Fatal(err)
	}
	codes := regexp.MustCompile(`Code += "([A-Z_]+)"`).FindAllSubmatch(src, -1)
	if len(codes) < 20 {
		t.Fatal("where are the codes?")
	}
	seen := map[string]agui.Code{}
	for _, m := range codes {
		code := agui.Code(m[1])
		text := textFor(code, HandedOn)
		if text == textFor("OWN", HandedOn) {
			t.Errorf("%s has no words", code)
		}
		if other, ok := seen[text]; ok {
			t.Errorf("%s and %s have the same", code, other)
		}
		seen[text] = code
	}
}

package langgraph

import (
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate/dialecttest"
	"holdpoint/translate/kit"
)

// TestIsID: LangGraph takes a key for an id by ^[0-9a-f]{32}$; one key that is none makes the map
// itself the answer, which is true to every node that waits.
func TestIsID(t *testing.T) {
	for id, want := range map[string]bool{
		idA:                          true,
		idA[:31]:                     false,
		idA + "0":                    false,
		strings.ToUpper(idA):         false,
		idA[:31] + "g":               false,
		"":                           false,
		strings.Repeat("\u00e9", 16): false,
	} {
		if isID(id) != want {
			t.Errorf("%q: %v", id, !want)
		}
	}
}

// TestReviewConfigsAreFoundByName: they need not stand in the order of the actions.
func TestReviewConfigsAreFoundByName(t *testing.T) {
	value := `{"action_requests":[{"name":"a","args":{}},{"name":"b","args":{}}],"review_configs":[{"action_name":"b","allowed_decisions":["approve","edit","reject"]},{"action_name":"a","allowed_decisions":["approve"]}]}`
	d := newDialect(t, Options{})
	p := pausedBy(t, d, started, custom(idA, value), finished)
	if strings.Contains(string(p.Interrupts[0].Schema()), "editedArgs") || !strings.Contains(string(p.Interrupts[1].Schema()), "editedArgs") {
		t.Errorf("%s\n%s", p.Interrupts[0].Schema(), p.Interrupts[1].Schema())
	}
	_, _, err := resumeWith(t, d, p, input(t, dialecttest.ResumeArray(dialecttest.Entry(p.Interrupts[0].ID, `{"approved":false}`), dialecttest.Entry(p.Interrupts[1].ID, `{"approved":true}`))))
	if dialecttest.Code(err) != agui.InvalidPayload {
		t.Errorf("a may not be rejected: %v", err)
	}
}

func TestCancelThatAGraphCouldTakeForAYesIsWarnedOf(t *testing.T) {
	for cancel, want := range map[string]bool{``: false, `false`: false, `null`: false, `""`: false, `0`: false, `true`: true, `"no"`: true, `{"approved":false}`: true} {
		if got := (Options{Cancel: kit.JSON(cancel)}).warning() != ""; got != want {
			t.Errorf("%s: %v", cancel, got)
		}
	}
}

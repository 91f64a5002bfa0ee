package langgraph

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/dialecttest"
	"holdpoint/translate/internal/langgraphapi"
	"holdpoint/translate/kit"
)

// TestIsID checks ids with LangGraph's rule: a key of a map is an id if it matches ^[0-9a-f]{32}$.
// If one key does not match, LangGraph uses the whole map as the answer, which each waiting node
// would read as true.
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
		if langgraphapi.IsID(id) != want {
			t.Errorf("%q: %v", id, !want)
		}
	}
}

// TestReviewConfigsAreFoundByName: review_configs and the actions are in a different order. Each
// action must get the config with its name.
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

// TestHexIDsOfOthers: an outcome has an id of 32 hex digits. The id counts as LangGraph's only if
// the adapter's metadata or a CUSTOM event shows that. If it does not count as LangGraph's, the
// answer must be sent in the array, because LangGraph ignores a map with unknown ids, and the
// answer would be lost.
func TestHexIDsOfOthers(t *testing.T) {
	for name, c := range map[string]struct {
		stream []string
		array  bool
	}{
		"the adapter's metadata": {[]string{withOutcome(adapters(idA, `"x"`, ""), adapters(idB, `"y"`, ""))}, false},
		"a CUSTOM event": {[]string{custom(idA, `"x"`), custom(idB, `"y"`),
			withOutcome(`{"id":"`+idA+`","reason":"langgraph:interrupt"}`, `{"id":"`+idB+`","reason":"langgraph:interrupt"}`)}, false},
		"a subclass with ids of its own": {[]string{withOutcome(`{"id":"`+idA+`","reason":"r"}`, `{"id":"`+idB+`","reason":"r"}`)}, true},
		"the same beside CUSTOM events": {[]string{custom(strings.Repeat("0", 32), `"x"`),
			withOutcome(`{"id":"`+idA+`","reason":"r"}`, `{"id":"`+idB+`","reason":"r"}`)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDialect(t, Options{})
			p := pausedBy(t, d, append([]string{started}, c.stream...)...)
			out, _, err := resumeWith(t, d, p, input(t, dialecttest.ResumeArray(dialecttest.Entry(p.Interrupts[0].ID, `1`), dialecttest.Entry(p.Interrupts[1].ID, `2`))))
			if err != nil {
				t.Fatal(err)
			}
			got := gjson.GetBytes(out.Body, "resume.0.interruptId").Str
			switch {
			case c.array && (got != idA || sent(out) != ""):
				t.Errorf("the backend gets %s", out.Body)
			case !c.array && (got != "" || sent(out) != `{"`+idA+`":1,"`+idB+`":2}`):
				t.Errorf("the backend gets %s", out.Body)
			}
		})
	}
}

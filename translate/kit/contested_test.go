package kit

import (
	"encoding/json"
	"testing"

	"holdpoint/internal/agui"
)

func TestRefuseContested(t *testing.T) {
	for name, c := range map[string]struct {
		answer  agui.Answer
		refused bool
	}{
		"an approval": {agui.Answer{Status: agui.Resolved, Payload: json.RawMessage(`{"approved":true}`)}, true},
		"a value":     {agui.Answer{Status: agui.Resolved, Payload: json.RawMessage(`"Bob"`)}, true},
		"no payload":  {agui.Answer{Status: agui.Resolved}, true},
		"a denial":    {agui.Answer{Status: agui.Resolved, Payload: json.RawMessage(`{"approved":false}`)}, false},
		"a cancel":    {agui.Answer{Status: agui.Cancelled}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if err := RefuseContested(agui.Pause{}, c.answer); err != nil {
				t.Errorf("the pause is not contested: %v", err)
			}
			denial := agui.Answer{Status: agui.Resolved, Payload: json.RawMessage("false")}
			if err := RefuseContested(agui.Pause{Contested: true}, denial, c.answer); (err != nil) != c.refused {
				t.Errorf("refused: %v, want %v", err, c.refused)
			}
		})
	}
}

func TestOneForEachID(t *testing.T) {
	yes, no, cancel := agui.Answer{Status: agui.Resolved, Payload: []byte(`{"approved":true}`)}, agui.Answer{Status: agui.Resolved, Payload: []byte(`{"approved":false}`)}, agui.Answer{Status: agui.Cancelled}
	text := agui.Answer{Status: agui.Resolved, Payload: []byte(`"yes"`)}
	for name, c := range map[string]struct {
		ids     []string
		answers []agui.Answer
		fits    bool
	}{
		"ids apart":         {[]string{"a", "b"}, []agui.Answer{yes, no}, true},
		"a yes and a no":    {[]string{"a", "a"}, []agui.Answer{yes, no}, false},
		"a no and a yes":    {[]string{"a", "a"}, []agui.Answer{no, yes}, false},
		"the third":         {[]string{"a", "b", "a"}, []agui.Answer{yes, no, cancel}, false},
		"twice yes":         {[]string{"a", "a"}, []agui.Answer{yes, yes}, true},
		"a no and a cancel": {[]string{"a", "a"}, []agui.Answer{no, cancel}, true},
		"two words of yes":  {[]string{"a", "a"}, []agui.Answer{yes, text}, false},
		"without an id":     {[]string{"", ""}, []agui.Answer{yes, no}, false},
	} {
		var p agui.Pause
		for _, id := range c.ids {
			p.Interrupts = append(p.Interrupts, agui.Interrupt{Native: id})
		}
		if err := OneForEachID(p, c.answers); (err == nil) != c.fits {
			t.Errorf("%s: %v", name, err)
		}
	}
}

package kit_test

import (
	"encoding/json"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// TestRead checks which meaning of an answer is recorded by the audit and other observers.
func TestRead(t *testing.T) {
	const unclear, yes, no = agui.Unclear, agui.Approves, agui.Denies
	for payload, want := range map[string]agui.Reading{
		`{"approved":true}`:                       {Meaning: yes},
		`{"approved":true,"message":"fine"}`:      {Meaning: yes},
		`{"approved":true,"editedArgs":{"a":1}}`:  {Meaning: yes, Edited: true},
		`{"approved":true,"editedArgs":null}`:     {Meaning: yes},
		`{"approved":false,"editedArgs":{"a":1}}`: {Meaning: no},
		`{"accepted":true}`:                       {Meaning: yes},
		`{"confirmed":true}`:                      {Meaning: yes},
		`{"confirmed":false}`:                     {Meaning: no},
		`true`:                                    {Meaning: yes},
		`false`:                                   {Meaning: no},
		`"yes"`:                                   {Meaning: yes},
		`"Approve "`:                              {Meaning: yes},
		`"rejected"`:                              {Meaning: no},
		`"perhaps"`:                               {},
		`{"type":"approve"}`:                      {Meaning: yes},
		`{"type":"accept","args":null}`:           {Meaning: yes},
		`{"type":"edit","edited_action":{"name":"f","args":{"no":true}}}`:                {Meaning: yes, Edited: true},
		`{"type":"reject","message":"too much"}`:                                         {Meaning: no},
		`{"type":"respond","message":"yes"}`:                                             {},
		`{"decisions":[{"type":"approve"}]}`:                                             {Meaning: yes},
		`{"decisions":[{"type":"approve"},{"type":"edit","edited_action":{"args":{}}}]}`: {Meaning: yes, Edited: true},
		`{"decisions":[{"type":"reject"}]}`:                                              {Meaning: no},
		`{"decisions":[{"type":"approve"},{"type":"reject"}]}`:                           {},
		`{"decisions":[]}`:                      {},
		`{"decision":"approve"}`:                {Meaning: yes},
		`{"action":"accept","content":{"a":1}}`: {Meaning: yes},
		`{"action":"decline"}`:                  {Meaning: no},
		`{"action":"cancel"}`:                   {Meaning: no},
		`{"response":"y"}`:                      {Meaning: yes},
		`{"type":"approve","approved":false}`:   {},
		`{"approved":true,"decision":"deny"}`:   {},
		`{"file":"a.txt"}`:                      {},
		`{}`:                                    {},
		`[]`:                                    {},
		`null`:                                  {},
		`1`:                                     {},
		`{"approved":true,"x":"` + strings.Repeat("x", 64<<10) + `"}`: {},
	} {
		a := agui.Answer{ID: "i", Status: agui.Resolved, Payload: json.RawMessage(payload)}
		if got := kit.Read(agui.Interrupt{ID: "i"}, a); got != want {
			t.Errorf("%.80s: %+v, want %+v", payload, got, want)
		}
	}
	_ = unclear
	own := agui.Interrupt{ID: "i", Yes: json.RawMessage(`{"go":"on"}`), No: json.RawMessage(`"halt"`)}
	for payload, want := range map[string]agui.Meaning{`{"go":"on","note":"x"}`: yes, `"halt"`: no, `{"go":"off"}`: unclear} {
		if got := kit.Read(own, agui.Answer{Status: agui.Resolved, Payload: json.RawMessage(payload)}); got.Meaning != want {
			t.Errorf("%s in the question's own words: %+v", payload, got)
		}
	}
}

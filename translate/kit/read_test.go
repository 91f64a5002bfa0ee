package kit_test

import (
	"encoding/json"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// TestRead checks the meaning of an answer that the audit and other observers get.
func TestRead(t *testing.T) {
	const unclear, yes, no = agui.Unclear, agui.Approves, agui.Denies
	for payload, want := range map[string]agui.Reading{
		`{"approved":true}`:                       {Says: yes},
		`{"approved":true,"message":"fine"}`:      {Says: yes},
		`{"approved":true,"editedArgs":{"a":1}}`:  {Says: yes, Edited: true},
		`{"approved":true,"editedArgs":null}`:     {Says: yes},
		`{"approved":false,"editedArgs":{"a":1}}`: {Says: no},
		`{"accepted":true}`:                       {Says: yes},
		`{"confirmed":true}`:                      {Says: yes},
		`{"confirmed":false}`:                     {Says: no},
		`true`:                                    {Says: yes},
		`false`:                                   {Says: no},
		`"yes"`:                                   {Says: yes},
		`"Approve "`:                              {Says: yes},
		`"rejected"`:                              {Says: no},
		`"perhaps"`:                               {},
		`{"type":"approve"}`:                      {Says: yes},
		`{"type":"accept","args":null}`:           {Says: yes},
		`{"type":"edit","edited_action":{"name":"f","args":{"no":true}}}`:                {Says: yes, Edited: true},
		`{"type":"reject","message":"too much"}`:                                         {Says: no},
		`{"type":"respond","message":"yes"}`:                                             {},
		`{"decisions":[{"type":"approve"}]}`:                                             {Says: yes},
		`{"decisions":[{"type":"approve"},{"type":"edit","edited_action":{"args":{}}}]}`: {Says: yes, Edited: true},
		`{"decisions":[{"type":"reject"}]}`:                                              {Says: no},
		`{"decisions":[{"type":"approve"},{"type":"reject"}]}`:                           {},
		`{"decisions":[]}`:                      {},
		`{"decision":"approve"}`:                {Says: yes},
		`{"action":"accept","content":{"a":1}}`: {Says: yes},
		`{"action":"decline"}`:                  {Says: no},
		`{"action":"cancel"}`:                   {Says: no},
		`{"response":"y"}`:                      {Says: yes},
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
		if got := kit.Read(own, agui.Answer{Status: agui.Resolved, Payload: json.RawMessage(payload)}); got.Says != want {
			t.Errorf("%s in the question's own words: %+v", payload, got)
		}
	}
}

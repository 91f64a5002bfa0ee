package client

import (
	"encoding/json"
	"slices"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/transcript"
)

// rawList makes a list of JSON texts.
func rawList(list ...string) []json.RawMessage {
	raw := make([]json.RawMessage, len(list))
	for n, one := range list {
		raw[n] = json.RawMessage(one)
	}
	return raw
}

// TestSnapshots checks which snapshots a client gets before an outcome, and for what reason
// Holdpoint omits a snapshot.
func TestSnapshots(t *testing.T) {
	t.Parallel()
	const (
		answer   = `{"id":"a1","role":"assistant","content":"hi"}`
		again    = `{"id":"a1","role":"assistant","content":"ho"}`
		state    = `{"type":"STATE_SNAPSHOT","snapshot":{"n":1}}`
		messages = `{"type":"MESSAGES_SNAPSHOT","messages":[` + user + `,` + answer + `]}`
	)
	whole := Snapshots{
		List: rawList(user, answer), IsComplete: true, Messages: []byte("[" + user + "," + answer + "]"), State: []byte(`{"n":1}`), Stateful: true,
	}
	change := func(edit func(*Snapshots)) Snapshots {
		s := whole
		edit(&s)
		return s
	}
	for name, c := range map[string]struct {
		known    Snapshots
		withheld HiddenSnapshots
		untaken  bool
		want     []string
		left     []Omission
	}{
		"both":                            {whole, HiddenSnapshots{}, false, []string{state, messages}, nil},
		"the backend sent the state":      {change(func(s *Snapshots) { s.StateSent, s.AnyState = true, true }), HiddenSnapshots{}, false, []string{messages}, nil},
		"the backend sent the messages":   {change(func(s *Snapshots) { s.MessagesSent = true }), HiddenSnapshots{}, false, []string{state}, nil},
		"an empty state, never mentioned": {change(func(s *Snapshots) { s.State = []byte(`{}`) }), HiddenSnapshots{}, false, []string{messages}, nil},
		"an empty state, it was another":  {change(func(s *Snapshots) { s.State, s.AnyState = []byte(`{}`), true }), HiddenSnapshots{}, false, []string{`{"type":"STATE_SNAPSHOT","snapshot":{}}`, messages}, nil},
		"a state of null":                 {change(func(s *Snapshots) { s.State, s.AnyState = nil, true }), HiddenSnapshots{}, false, []string{`{"type":"STATE_SNAPSHOT","snapshot":null}`, messages}, nil},
		"an unknown state":                {change(func(s *Snapshots) { s.State, s.Stateful = nil, false }), HiddenSnapshots{}, false, []string{messages}, []Omission{StateUnknown}},
		"unknown messages":                {change(func(s *Snapshots) { s.List, s.IsComplete, s.Messages = nil, false, nil }), HiddenSnapshots{}, false, []string{state}, []Omission{MessagesUnknown}},
		"no messages":                     {change(func(s *Snapshots) { s.List, s.Messages = nil, nil }), HiddenSnapshots{}, false, []string{state}, nil},
		"two messages of one id":          {change(func(s *Snapshots) { s.List = rawList(user, answer, again) }), HiddenSnapshots{}, false, []string{state}, []Omission{MessagesShareID}},
		"two messages without an id":      {change(func(s *Snapshots) { s.List = rawList(`{"role":"user"}`, `{"role":"user"}`) }), HiddenSnapshots{}, false, []string{state, messages}, nil},
		"a stranger to the messages":      {whole, HiddenSnapshots{Messages: true}, false, []string{state}, []Omission{MessagesWithheld}},
		"a stranger to the state":         {whole, HiddenSnapshots{State: true}, false, []string{messages}, []Omission{StateWithheld}},
		"a stranger to both":              {whole, HiddenSnapshots{State: true, Messages: true}, false, nil, []Omission{StateWithheld, MessagesWithheld}},
		"a message did not go to the backend: the client keeps it, the record does not": {change(func(s *Snapshots) { s.Messages = []byte("[" + user + "]") }), HiddenSnapshots{}, true, []string{state, messages}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, left := AppendSnapshots(nil, &c.known, c.withheld, c.untaken)
			same(t, got, c.want...)
			if !slices.Equal(left, c.left) {
				t.Errorf("left out: %v, want %v", left, c.left)
			}
		})
	}
}

// TestStoredSnapshots checks which snapshots of the record Holdpoint sends, and to which requests
// it may send them.
func TestStoredSnapshots(t *testing.T) {
	t.Parallel()
	list := rawList(user)
	const messages = `{"type":"MESSAGES_SNAPSHOT","messages":[` + user + `]}`
	same(t, StoredSnapshots(list, []byte(`{"n":1}`)), `{"type":"STATE_SNAPSHOT","snapshot":{"n":1}}`, messages)
	same(t, StoredSnapshots(list, []byte(`{}`)), messages)
	same(t, StoredSnapshots(nil, nil))
	same(t, StoredSnapshots(rawList(user, user), nil))

	l := listen(t, older)
	for name, c := range map[string]struct {
		seen []agui.SeenMessage
		want bool
	}{
		"a message of the request":     {[]agui.SeenMessage{{ID: "x"}, {ID: "u1"}}, true},
		"others":                       {[]agui.SeenMessage{{ID: "x"}}, false},
		"none":                         {nil, false},
		"one without an id, as theirs": {[]agui.SeenMessage{{ID: ""}}, false},
	} {
		if l.BringsOneOf(c.seen) != c.want {
			t.Errorf("%s: not %v", name, c.want)
		}
	}
}

// TestMessagesThatDidNotGo: the backend sends a snapshot, but it did not get some messages of the
// client. Holdpoint must add these messages to the snapshot. Otherwise the client would delete
// them.
func TestMessagesThatDidNotGo(t *testing.T) {
	t.Parallel()
	message := func(text string) agui.Message { return agui.ParseMessage([]byte(text)) }
	const next = `{"id":"u2","role":"user","content":"and?"}`
	for name, c := range map[string]struct {
		came, want string
		list       []agui.Message
	}{
		"none":             {"[" + user + "]", "[" + user + "]", nil},
		"one":              {"[" + user + "]", "[" + user + "," + next + "]", []agui.Message{message(next)}},
		"it is there":      {"[" + user + "," + next + "]", "[" + user + "," + next + "]", []agui.Message{message(next)}},
		"an empty list":    {"[]", "[" + next + "]", []agui.Message{message(next)}},
		"one without ids":  {`[{"role":"user","content":"x"}]`, `[{"role":"user","content":"x"}]`, []agui.Message{message(`{"role":"user","content":"x"}`)}},
		"another, without": {`[{"role":"user","content":"x"}]`, `[{"role":"user","content":"x"},{"role":"user","content":"y"}]`, []agui.Message{message(`{"role":"user","content":"y"}`)}},
	} {
		got := WithMessages(agui.NewEvent([]byte(`{"type":"MESSAGES_SNAPSHOT","messages":`+c.came+`}`)), c.list)
		if string(got.JSON) != `{"type":"MESSAGES_SNAPSHOT","messages":`+c.want+`}` {
			t.Errorf("%s: %s", name, got.JSON)
		}
	}
}

// TestSnapshotTexts: a client ignores the messages in snapshots. It must get the assistant's texts
// since the last user message as a stream.
func TestSnapshotTexts(t *testing.T) {
	t.Parallel()
	snapshot := agui.NewEvent([]byte(`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"old","role":"assistant","content":"before"},` + user +
		`,{"id":"a1","role":"assistant","content":"said"},{"id":"a2","role":"assistant","content":"only here"},{"role":"assistant","content":"no id"},{"id":"a3","role":"assistant","content":""}]}`))
	shown := transcript.New(1<<20, nil, nil)
	for _, ev := range textMessage("a1", "said") {
		shown.Add(ev)
	}
	for who, body := range map[string]string{"AG-UI 1.0": official, "an unknown one": older} {
		s := Rewriter{Line: listen(t, body).Line}
		if got := s.SnapshotTexts(snapshot, shown); got != nil {
			t.Errorf("%s takes snapshots, and gets %s", who, brief(got))
		}
	}
	for _, body := range []string{dotnet, inTree} {
		s := Rewriter{Line: listen(t, body).Line}
		same(t, s.SnapshotTexts(snapshot, shown), texts(textMessage("a2", "only here"))...)
		lost := transcript.New(1<<20, nil, nil)
		lost.ForgetMessages()
		same(t, s.SnapshotTexts(snapshot, lost))
	}
}

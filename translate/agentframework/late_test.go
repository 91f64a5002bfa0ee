package agentframework

import (
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

// TestWordsWaitForTheResult: Holdpoint holds text about a call until the call's result arrives. If
// the text exceeds a bound, Holdpoint must send it earlier.
func TestWordsWaitForTheResult(t *testing.T) {
	p, l := pausedBy(t, asking(withList("a"), "", "a")...)
	words := `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"` + strings.Repeat("x", maxHeld) + `"}`
	_, run := answering(t, p, l, input(t, entries(p, "true")))
	var told []agui.Type
	for _, s := range []string{started, textOpen, words, textEnds} {
		if err := run.Event(agui.Event{Type: agui.PeekType([]byte(s)), JSON: []byte(s)}, func(ev agui.Event) { told = append(told, ev.Type) }); err != nil {
			t.Fatal(err)
		}
	}
	if len(told) != 4 {
		t.Errorf("told %v", told)
	}
}

// TestClientWithoutItsMessages: a client that was reloaded must get the messages with the calls
// before it gets the results.
func TestClientWithoutItsMessages(t *testing.T) {
	p, l := pausedBy(t, asking(withOutcome(schemaOld, "a"), "", "a")...)
	_, run := answering(t, p, l, dialecttest.Input(t, `{"threadId":"t1","runId":"r1","messages":[],`+entries(p, yes)+`}`))
	if got := play(t, run, l, started, result("a", "done"), finished); got.Types() != "RUN_STARTED MESSAGES_SNAPSHOT TOOL_CALL_RESULT" || string(got.Emitted[1].JSON) != snapshotOf(user, said("a")) {
		t.Errorf("told %s", got.Text())
	}
}

// TestMessageBesideAnswersThatFail: the client sends a new message together with answers. In the
// client's history, this message precedes the results of the answered calls. So a snapshot must
// move the message behind the results, even if the run fails before Holdpoint sends the message.
func TestMessageBesideAnswersThatFail(t *testing.T) {
	u2 := `{"id":"u2","role":"user","content":"more"}`
	beside := agui.ParseMessage([]byte(u2))
	p, l := pausedBy(t, asking(withList("a"), "", "a")...)
	l.Say(agui.ParseMessage([]byte(u2)))
	_, run := answering(t, p, l, input(t, entries(p, yes)), func(r *translate.Request) { r.NewMessages = []agui.Message{beside} })
	words := `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m5","delta":"sure"}`
	got := play(t, run, l, started, strings.Replace(textOpen, "m1", "m5", 1), words, strings.Replace(textEnds, "m1", "m5", 1), finished)
	want := snapshotOf(user, said("a"), `{"id":"result-a~r1","role":"tool","content":"`+resultUntold+`","toolCallId":"a"}`, `{"role":"assistant","content":"sure","id":"m5"}`, u2)
	all := got.All()
	if got.Types() != "RUN_STARTED MESSAGES_SNAPSHOT TOOL_CALL_RESULT TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END MESSAGES_SNAPSHOT" ||
		string(all[1].JSON) != snapshotOf(user, said("a")) || string(all[len(all)-1].JSON) != want {
		t.Errorf("told %s", got.Text())
	}
}

// TestSnapshotsOfAResumeAreNotShown: a client keeps the order of its messages, and appends new ones
// from a snapshot. The backend's own snapshot would spoil the client's history, so it must not be
// sent.
func TestSnapshotsOfAResumeAreNotShown(t *testing.T) {
	two, done := said("a", "b"), `{"id":"m9","role":"assistant","content":"done"}`
	p, l := pausedBy(t, asking(withList("a", "b"), "", "a", "b")...)
	got := resumed(t, p, l, entries(p, yes, no), started, result("a", "ra"), snapshotOf(user, two, done, toolMessage("x", "a", "ra"), toolMessage("y", "b", resultRejected)), finished)
	if got.Types() != "RUN_STARTED TOOL_CALL_RESULT TOOL_CALL_RESULT" {
		t.Errorf("told %s", got.Text())
	}
}

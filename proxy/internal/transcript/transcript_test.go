package transcript

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/internal/test/hostile"
)

const oldUser = `{"id":"u1","role":"user","content":"hi"}`

// TestMayHaveFreshCalls checks that MayHaveFreshCalls is true for every event that can begin a
// call. If no event can, MayHaveFreshCalls must not parse the events.
func TestMayHaveFreshCalls(t *testing.T) {
	const one = `{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}`
	const old = `{"id":"a1","role":"assistant","toolCalls":[` + one + `]}`
	for event, may := range map[string]bool{
		`{"type":"TEXT_MESSAGE_CHUNK","messageId":"a2","delta":"hi"}`:                               false,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{}"}`:                                  false,
		`{"type":"TOOL_CALL_RESULT","messageId":"t1","toolCallId":"c1","content":"sent"}`:           false,
		`{"type":"STATE_SNAPSHOT","snapshot":{"toolCalls":[{"id":"c2"}]}}`:                          false,
		`{"type":"TOOL_CALL_START","toolCallId":"c2","toolCallName":"f"}`:                           true,
		`{"type":"TOOL_CALL_CHUNK","toolCallId":"c2","toolCallName":"f","delta":"{"}`:               true,
		`{"type":"MESSAGES_SNAPSHOT","messages":[` + strings.ReplaceAll(old, `"c1"`, `"c2"`) + `]}`: true,
	} {
		for _, limit := range []int{1 << 20, 40} {
			tr := New(limit, []agui.Message{agui.ParseMessage([]byte(old))}, nil)
			tr.Add(agui.NewEvent([]byte(event)))
			if got := agui.MayHaveFreshCalls(tr); got != may {
				t.Errorf("%v after %s", got, event)
			}
			if may || limit < 1<<10 {
				continue
			}
			if tr.unfolded.size == 0 {
				t.Errorf("%s was read", event)
			}
			if fresh := slices.ContainsFunc(tr.Calls(), func(c agui.Call) bool { return c.StreamedInRun }); fresh {
				t.Errorf("a call is fresh after %s", event)
			}
		}
	}
}

func TestTranscriptFollowsTheClientsReducer(t *testing.T) {
	tr := New(1<<20, []agui.Message{agui.ParseMessage([]byte(oldUser))}, []byte(`{"n":12345678901234567890,"list":[1]}`))
	for _, ev := range []string{
		`{"type":"TEXT_MESSAGE_START","messageId":"a1","role":"assistant"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"a1","delta":"I will "}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"a1","delta":"\u003cmail\u003e"}`,
		`{"type":"TEXT_MESSAGE_END","messageId":"a1"}`,
		`{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"mail","parentMessageId":"a1"}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{\"to\":"}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"\"bob\"}"}`,
		`{"type":"TOOL_CALL_END","toolCallId":"c1"}`,
		`{"type":"TOOL_CALL_RESULT","messageId":"t1","toolCallId":"c1","content":"sent"}`,
		`{"type":"TOOL_CALL_CHUNK","toolCallId":"c2","toolCallName":"log","delta":"{"}`,
		`{"type":"TOOL_CALL_CHUNK","delta":"}"}`,
		`{"type":"TEXT_MESSAGE_CHUNK","messageId":"a2","delta":"do"}`,
		`{"type":"TEXT_MESSAGE_CHUNK","delta":"ne"}`,
		`{"type":"STATE_DELTA","delta":[{"op":"add","path":"/list/-","value":2},{"op":"add","path":"/x","value":"<&>"}]}`,
		`{"type":"RAW","event":{}}`,
	} {
		tr.Add(agui.NewEvent([]byte(ev)))
	}
	list, ok := tr.Messages()
	want := `[` + oldUser + `,{"id":"a1","role":"assistant","content":"I will <mail>","toolCalls":[{"id":"c1","type":"function","function":{"name":"mail","arguments":"{\"to\":\"bob\"}"}}]},` +
		`{"id":"t1","role":"tool","toolCallId":"c1","content":"sent"},` +
		`{"id":"c2","role":"assistant","toolCalls":[{"id":"c2","type":"function","function":{"name":"log","arguments":"{}"}}]},` +
		`{"id":"a2","role":"assistant","content":"done"}]`
	if got := string(agui.MustMarshal(list)); !ok || got != want {
		t.Errorf("messages %s\nwant     %s", got, want)
	}
	if state, ok := tr.State(); !ok || string(agui.Canonical(state)) != `{"list":[1,2],"n":12345678901234567890,"x":"<&>"}` {
		t.Errorf("state %s", state)
	}
	calls := tr.Calls()
	if len(calls) != 2 || !calls[0].Answered || calls[1].Answered || calls[0].Args != `{"to":"bob"}` {
		t.Errorf("calls %+v", calls)
	}
}

func TestTranscriptOverTheBoundIsNeverPartial(t *testing.T) {
	tr := New(1000, []agui.Message{agui.ParseMessage([]byte(oldUser))}, nil)
	for range 100 {
		tr.Add(agui.NewEvent([]byte(`{"type":"TEXT_MESSAGE_CHUNK","messageId":"a1","delta":"` + strings.Repeat("x", 100) + `"}`)))
	}
	if _, ok := tr.Messages(); ok {
		t.Error("messages over the bound are told")
	}
	if seen := tr.SeenMessages(); len(seen) != 2 || seen[1].ID != "a1" || seen[0].Digest == "" {
		t.Errorf("ids are not kept: %+v", seen)
	}
	tr.Add(agui.NewEvent([]byte(`{"type":"MESSAGES_SNAPSHOT","messages":[` + oldUser + `]}`)))
	if list, ok := tr.Messages(); !ok || len(list) != 1 {
		t.Error("a whole snapshot makes the messages known again")
	}
	tr.Add(agui.NewEvent([]byte(`{"type":"STATE_DELTA","delta":[{"op":"remove","path":"/nothing"}]}`)))
	if _, ok := tr.State(); ok {
		t.Error("a patch that does not apply leaves the state unknown")
	}
}

// TestPatchThatCopiesIsBounded: a patch of a few hundred bytes has copy operations that double the
// state again and again. The state must stay within its limit.
func TestPatchThatCopiesIsBounded(t *testing.T) {
	var ops []string
	for n := range 20 {
		ops = append(ops, fmt.Sprintf(`{"op":"copy","from":"/a","path":"/a/k%d"}`, n))
	}
	tr := New(64<<10, nil, json.RawMessage(`{"a":{"x":"`+strings.Repeat("x", 64)+`"}}`))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	tr.Add(agui.NewEvent([]byte(`{"type":"STATE_DELTA","delta":[` + strings.Join(ops, ",") + `]}`)))
	_, ok := tr.State()
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; ok || used > 8<<20 {
		t.Errorf("known %v, %d MiB for a transcript of 64 KiB", ok, used>>20)
	}
}

// TestOpenItemsOfALongStream: a stream begins and ends very many items. The items that are still
// open must be closed from the last to the first. Ended items must use no memory.
func TestOpenItemsOfALongStream(t *testing.T) {
	tr := New(1<<20, nil, nil)
	add := func(kind string, n int) {
		tr.Add(agui.NewEvent(fmt.Appendf(nil, `{"type":"TEXT_MESSAGE_%s","messageId":"m%d","role":"assistant"}`, kind, n)))
	}
	add("START", 0) // stays open
	for n := 1; n < 100_000; n++ {
		add("START", n)
		if n > 3 {
			add("END", n-3)
		}
	}
	var got []string
	for _, ev := range tr.ClosingEvents(false) {
		got = append(got, ev.Get("messageId").Str)
	}
	if want := []string{"m99999", "m99998", "m99997", "m0"}; !slices.Equal(got, want) {
		t.Errorf("open %q, want %q", got, want)
	}
	if len(tr.open) > 200 {
		t.Errorf("%d places for 4 that are open", len(tr.open))
	}
}

// TestManyTurnsTakeLinearTime: a stream has many turns (a message, a call and its result). Each
// turn must take the same time, however many turns precede it. The same must hold for each call of
// a message with many calls.
func TestManyTurnsTakeLinearTime(t *testing.T) {
	for name, c := range map[string]struct {
		parent                 string
		turns, messages, limit int
	}{
		"a message each":           {"m%[1]d", 100_000, 200_000, 64 << 20},
		"one message":              {"m", 200_000, 200_001, 64 << 20},
		"a message each, too many": {"m%[1]d", 100_000, 0, 4 << 20},
		"one message, too many":    {"m", 200_000, 0, 4 << 20},
	} {
		tr := New(c.limit, nil, nil)
		before := hostile.ProcessorTime(t)
		for n := range c.turns {
			for _, s := range []string{
				`{"type":"TOOL_CALL_START","toolCallId":"c%[1]d","toolCallName":"f","parentMessageId":"` + c.parent + `"}`, `{"type":"TOOL_CALL_END","toolCallId":"c%[1]d"}`,
				`{"type":"TOOL_CALL_RESULT","messageId":"r%[1]d","toolCallId":"c%[1]d","content":"x"}`,
			} {
				tr.Add(agui.NewEvent(fmt.Appendf(nil, s, n)))
			}
		}
		tr.fold()
		if took := hostile.ProcessorTime(t) - before; took > hostile.Limit {
			t.Errorf("%s: %v", name, took)
		}
		if c.messages == 0 { // only the newest messages and calls are kept
			if n := len(tr.messages); n > 2*c.limit/messageCost || len(tr.calls) > 2*c.limit/callCost || tr.callByID[fmt.Sprintf("c%d", c.turns-1)] == nil {
				t.Errorf("%s: %d messages and %d calls", name, n, len(tr.calls))
			}
			c.messages = len(tr.messages)
		}
		if got := len(tr.messages); got != c.messages || tr.messages[got-1].callID != fmt.Sprintf("c%d", c.turns-1) {
			t.Errorf("%s: %d messages", name, got)
		}
	}
}

// TestFoldedLateAsAtOnce: a Transcript folds events at once, or much later with their texts joined.
// The results must be the same. If a message exceeds the limit, the Transcript must know it
// completely or not at all.
func TestFoldedLateAsAtOnce(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 5))
		limit := []int{1 << 20, 200, 2000, 100_000}[seed%4]
		late, atOnce := New(limit, nil, nil), New(limit, nil, nil)
		for _, ev := range someEvents(random, limit) {
			late.Add(agui.NewEvent([]byte(ev)))
			atOnce.Add(agui.NewEvent([]byte(ev)))
			atOnce.fold()
		}
		if got, want := told(late), told(atOnce); got != want {
			t.Fatalf("seed %d, limit %d: late\n%.2000s\nat once\n%.2000s", seed, limit, got, want)
		}
	}
}

// someEvents returns the events of a random valid stream. The text in it has some limit bytes, or
// far more.
func someEvents(random *rand.Rand, limit int) (events []string) {
	add := func(format string, args ...any) { events = append(events, fmt.Sprintf(format, args...)) }
	texts := []string{"word ", `\"quoted\" `, `\\`, `\n`, `\u00e9\u4e2d`, "日本", strings.Repeat("long ", 1+random.IntN(1+limit/20))}
	for m := range 2 + random.IntN(4) {
		add(`{"type":"TEXT_MESSAGE_START","messageId":"m%d","role":"assistant"}`, m)
		for range random.IntN(30) {
			switch random.IntN(12) {
			case 0:
				add(`{"type":"STATE_DELTA","delta":[{"op":"add","path":"/k%d","value":%d}]}`, random.IntN(5), m)
			case 1:
				add(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m%d","delta":"%s","timestamp":%d}`, m, texts[random.IntN(len(texts))], m)
			case 2:
				add(`{"type":"TEXT_MESSAGE_CONTENT","rawEvent":{"delta":"no","n":%d},"messageId":"m%d","delta":"%s"}`, random.IntN(9), m, texts[random.IntN(len(texts))])
			default:
				add(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m%d","delta":"%s"}`, m, texts[random.IntN(len(texts))])
			}
		}
		if random.IntN(3) > 0 {
			add(`{"type":"TEXT_MESSAGE_END","messageId":"m%d"}`, m)
		}
		switch random.IntN(4) {
		case 0:
			add(`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u","role":"user","content":"hi"},{"id":"m%d","role":"assistant","content":"so far"}]}`, m)
		case 1:
			add(`{"type":"STATE_SNAPSHOT","snapshot":{"text":"%s"}}`, texts[random.IntN(len(texts))])
		case 2:
			add(`{"type":"TOOL_CALL_START","toolCallId":"c%d","toolCallName":"f","parentMessageId":"m%d"}`, m, m)
			for range random.IntN(9) {
				add(`{"type":"TOOL_CALL_ARGS","toolCallId":"c%d","delta":"%s"}`, m, texts[random.IntN(len(texts))])
			}
			add(`{"type":"TOOL_CALL_END","toolCallId":"c%d"}`, m)
			add(`{"type":"TOOL_CALL_RESULT","messageId":"r%d","toolCallId":"c%d","content":"done"}`, m, m)
		}
	}
	return events
}

// TestTextBehindASnapshotIsWhole: messages exceed the limit, and then a MESSAGES_SNAPSHOT arrives.
// The messages must then be known again, with the text that streams after the snapshot.
func TestTextBehindASnapshotIsWhole(t *testing.T) {
	tr := New(1<<10, nil, nil)
	piece := func(m, s string) {
		tr.Add(agui.NewEvent([]byte(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"` + m + `","delta":"` + s + `"}`)))
	}
	start := func(m string) {
		tr.Add(agui.NewEvent([]byte(`{"type":"TEXT_MESSAGE_START","messageId":"` + m + `","role":"assistant"}`)))
	}
	start("m1")
	for range 1000 {
		piece("m1", strings.Repeat("x", 1000))
	}
	if _, whole := tr.Messages(); whole {
		t.Fatal("a message over the bound is known")
	}
	tr.Add(agui.NewEvent([]byte(`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m1","role":"assistant","content":"short"}]}`)))
	start("m2")
	piece("m2", "and ")
	piece("m2", "whole")
	list, whole := tr.Messages()
	if !whole || len(list) != 2 || !strings.Contains(string(list[1]), `"and whole"`) {
		t.Errorf("%s, %v", list, whole)
	}
}

// TestEscapesAreCountedAsWhatTheyMean: a text has many JSON escapes. The limit must apply to the
// decoded text.
func TestEscapesAreCountedAsWhatTheyMean(t *testing.T) {
	const limit = 100_000
	tr := New(limit, nil, nil)
	tr.Add(agui.NewEvent([]byte(`{"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant"}`)))
	for range 400 {
		tr.Add(agui.NewEvent([]byte(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"` + strings.Repeat(`\u00e9`, 100) + `"}`)))
	}
	list, whole := tr.Messages()
	if !whole || len(list) != 1 || strings.Count(string(list[0]), "é") != 40_000 {
		t.Errorf("80,000 bytes in 240,000 bytes of escapes: %d messages, whole %v", len(list), whole)
	}
}

// told returns everything that a transcript knows as text.
func told(tr *Transcript) string {
	var b strings.Builder
	messages, whole := tr.Messages()
	state, known := tr.State()
	fmt.Fprintf(&b, "\nmessages %s %v\nstate %s %v\n", agui.MustMarshal(append([]json.RawMessage{}, messages...)), whole, state, known)
	for _, c := range tr.Calls() {
		fmt.Fprintf(&b, "call %+v\n", c)
	}
	for _, ev := range tr.ClosingEvents(false) {
		fmt.Fprintf(&b, "open %s\n", ev.JSON)
	}
	return b.String()
}

// TestFreshCalls checks which calls belong to the current run. A call belongs to it if the run's
// stream began the call, even if an earlier call has the same id. It also belongs to it if a
// snapshot of the run was the first to contain the call.
func TestFreshCalls(t *testing.T) {
	history := agui.ParseMessage([]byte(`{"id":"m","role":"assistant","toolCalls":[` +
		`{"id":"old","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"again","type":"function","function":{"name":"f","arguments":"{}"}}]}`))
	tr := New(1<<20, []agui.Message{history}, nil)
	for _, id := range []string{"again", "new"} {
		tr.Add(agui.NewEvent([]byte(`{"type":"TOOL_CALL_START","toolCallId":"` + id + `","toolCallName":"f"}`)))
		tr.Add(agui.NewEvent([]byte(`{"type":"TOOL_CALL_END","toolCallId":"` + id + `"}`)))
	}
	for _, id := range []string{"old", "listed"} {
		tr.Add(agui.NewEvent([]byte(`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m","role":"assistant","toolCalls":[{"id":"` + id + `","type":"function","function":{"name":"f","arguments":"{}"}}]}]}`)))
	}
	for _, c := range tr.Calls() {
		if c.StreamedInRun != (c.ID != "old") {
			t.Errorf("%s: fresh %v", c.ID, c.StreamedInRun)
		}
	}
}

// TestReasoningStandsInItsPlace checks that messages have the reasoning in its place. A client
// deletes the reasoning that a snapshot with other reasoning lacks, but model providers require the
// signatures in it.
func TestReasoningStandsInItsPlace(t *testing.T) {
	thought := `{"id":"r0","role":"reasoning","content":"before"}`
	tr := New(1<<20, []agui.Message{agui.ParseMessage([]byte(oldUser)), agui.ParseMessage([]byte(thought))}, nil)
	add := func(events ...string) {
		for _, ev := range events {
			tr.Add(agui.NewEvent([]byte(ev)))
		}
	}
	add(
		`{"type":"REASONING_START","messageId":"r1"}`,
		`{"type":"REASONING_MESSAGE_START","messageId":"r1","role":"reasoning"}`,
		`{"type":"REASONING_MESSAGE_CONTENT","messageId":"r1","delta":"h"}`,
		`{"type":"REASONING_MESSAGE_CONTENT","messageId":"r1","delta":"m"}`,
		`{"type":"REASONING_MESSAGE_END","messageId":"r1"}`,
		`{"type":"REASONING_ENCRYPTED_VALUE","subtype":"message","entityId":"r1","encryptedValue":"SIG"}`,
		`{"type":"REASONING_END","messageId":"r1"}`,
		`{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"mail","parentMessageId":"a1"}`,
		`{"type":"TOOL_CALL_END","toolCallId":"c1"}`,
		`{"type":"REASONING_MESSAGE_CHUNK","messageId":"r2","delta":"on"}`,
		`{"type":"REASONING_MESSAGE_CHUNK","delta":"ce"}`,
	)
	said := `{"id":"r1","role":"reasoning","content":"hm","encryptedValue":"SIG"}`
	call := `{"id":"a1","role":"assistant","toolCalls":[{"id":"c1","type":"function","function":{"name":"mail","arguments":""}}]}`
	last := `{"id":"r2","role":"reasoning","content":"once"}`
	holds(t, tr, oldUser, thought, said, call, last)

	// A snapshot without reasoning leaves the client's reasoning unchanged.
	add(`{"type":"MESSAGES_SNAPSHOT","messages":[` + oldUser + `,` + call + `,{"id":"a2","role":"assistant","content":"x"}]}`)
	holds(t, tr, oldUser, thought, said, call, last, `{"id":"a2","role":"assistant","content":"x"}`)

	// A snapshot with some reasoning deletes the other reasoning messages.
	add(`{"type":"MESSAGES_SNAPSHOT","messages":[` + oldUser + `,` + said + `]}`)
	holds(t, tr, oldUser, said)
}

// TestSnapshotHoldsNoActivityWhereTheStreamHadSome: a stream had activities, which Holdpoint does
// not keep. The snapshot must then have no activities at all, so that the client keeps its own.
func TestSnapshotHoldsNoActivityWhereTheStreamHadSome(t *testing.T) {
	shown := `{"id":"v0","role":"activity","activityType":"plan","content":{}}`
	tr := New(1<<20, []agui.Message{agui.ParseMessage([]byte(oldUser)), agui.ParseMessage([]byte(shown))}, nil)
	holds(t, tr, oldUser, shown)
	tr.Add(agui.NewEvent([]byte(`{"type":"ACTIVITY_SNAPSHOT","messageId":"v1","activityType":"plan","content":{}}`)))
	holds(t, tr, oldUser)
	if seen := tr.SeenMessages(); len(seen) != 1 {
		t.Errorf("seen %+v", seen)
	}
	tr.Add(agui.NewEvent([]byte(`{"type":"MESSAGES_SNAPSHOT","messages":[` + oldUser + `,` + shown + `]}`)))
	holds(t, tr, oldUser, shown)
}

// TestReasoningThatIsLostIsLeftOut: some of the reasoning was too large to be kept. The snapshot
// must then have no reasoning at all.
func TestReasoningThatIsLostIsLeftOut(t *testing.T) {
	tr := New(1000, []agui.Message{agui.ParseMessage([]byte(oldUser))}, nil)
	tr.Add(agui.NewEvent([]byte(`{"type":"REASONING_MESSAGE_CHUNK","messageId":"r1","delta":"` + strings.Repeat("x", 2000) + `"}`)))
	tr.Add(agui.NewEvent([]byte(`{"type":"MESSAGES_SNAPSHOT","messages":[` + oldUser + `]}`)))
	tr.Add(agui.NewEvent([]byte(`{"type":"REASONING_MESSAGE_CHUNK","messageId":"r2","delta":"x"}`)))
	holds(t, tr, oldUser)
}

// holds checks that a transcript has exactly these messages.
func holds(t *testing.T, tr *Transcript, want ...string) {
	t.Helper()
	list, ok := tr.Messages()
	if got := string(agui.MustMarshal(list)); !ok || got != "["+strings.Join(want, ",")+"]" {
		t.Errorf("messages %v %s\nwant          [%s]", ok, got, strings.Join(want, ","))
	}
}

// TestAnsweredCallOfASnapshot: the result of a call arrives, and only then a snapshot contains the
// call. The call must not count as open. Otherwise a dialect would ask about it again.
func TestAnsweredCallOfASnapshot(t *testing.T) {
	tr := New(1<<20, []agui.Message{agui.ParseMessage([]byte(oldUser))}, nil)
	for _, ev := range []string{
		`{"type":"TOOL_CALL_RESULT","messageId":"t1","toolCallId":"c1","content":"yes"}`,
		`{"type":"MESSAGES_SNAPSHOT","messages":[` + oldUser + `,{"id":"a1","role":"assistant","toolCalls":[{"id":"c1","function":{"name":"pay","arguments":"{}"}}]}]}`,
	} {
		tr.Add(agui.NewEvent([]byte(ev)))
	}
	if calls := tr.Calls(); len(calls) != 1 || !calls[0].Answered {
		t.Errorf("%+v", calls)
	}
}

// TestResultWithoutContent: a backend sends a result without content, which is not valid AG-UI. The
// message that Holdpoint makes from it must be valid JSON that every backend can read.
func TestResultWithoutContent(t *testing.T) {
	tr := New(1<<20, nil, nil)
	tr.Add(agui.NewEvent([]byte(`{"type":"TOOL_CALL_RESULT","messageId":"t1","toolCallId":"c1"}`)))
	messages, ok := tr.Messages()
	want := `[{"id":"t1","role":"tool","toolCallId":"c1","content":""}]`
	if got, err := json.Marshal(messages); err != nil || !ok || string(got) != want {
		t.Errorf("%s (%v), want %s", got, err, want)
	}
}

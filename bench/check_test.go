package main

import (
	"fmt"
	"strings"
	"testing"
)

// sample returns a script with every feature of scripts.
func sample() script {
	o := order{thread: "t", run: "r"}
	return script{
		head:   []frame{o.startFrame(), textStart},
		block:  []frame{text("m1", 0, 120), {event: `{"type":"TOOL_CALL_START","toolCallId":"c-########","toolCallName":"request_approval"}`, rewritten: `{"type":"TOOL_CALL_START","toolCallId":"c-########","toolCallName":"delete_report"}`}},
		cycles: 12,
		tail:   []frame{textEnd, o.finishFrame()},
	}
}

func whole(s script, f form) string {
	var b strings.Builder
	for _, p := range s.parts(f) {
		for n := range p.times {
			p.setNumber(n)
			b.Write(p.bytes)
		}
	}
	return b.String()
}

// feed writes a stream to a checker in pieces of the given number of bytes.
func feed(c *checker, stream string, piece int) error {
	for len(stream) > 0 {
		n := min(piece, len(stream))
		if _, err := c.Write([]byte(stream[:n])); err != nil {
			return err
		}
		stream = stream[n:]
	}
	return c.checkComplete()
}

func TestCheckerTakesTheStreamHoweverItIsCut(t *testing.T) {
	for _, f := range []form{formSent, formRewritten, formReencoded} {
		stream := whole(sample(), f)
		for _, piece := range []int{1, 2, 7, 64, 1000, len(stream)} {
			c := newChecker(sample(), f)
			if err := feed(c, stream, piece); err != nil {
				t.Errorf("form %d in pieces of %d: %v", f, piece, err)
			}
			if c.frames != sample().frames() || c.matched != len(stream) {
				t.Errorf("form %d in pieces of %d: %d frames, %d of %d bytes", f, piece, c.frames, c.matched, len(stream))
			}
		}
	}
}

func TestEveryFrameDiffers(t *testing.T) {
	seen := map[string]bool{}
	s := sample()
	for frame := range strings.SplitSeq(strings.TrimSuffix(whole(s, formSent), "\n\n"), "\n\n") {
		if seen[frame] {
			t.Errorf("twice: %s", frame)
		}
		seen[frame] = true
	}
	if len(seen) != s.frames() {
		t.Errorf("%d frames, want %d", len(seen), s.frames())
	}
}

func TestCheckerSeesWhatIsWrong(t *testing.T) {
	right := whole(sample(), formSent)
	frames := strings.SplitAfter(right, "\n\n")
	without := func(n int) string { return strings.Join(frames[:n], "") + strings.Join(frames[n+1:], "") }
	for name, c := range map[string]struct{ stream, want string }{
		"nothing":                {"", "ended within frame 0"},
		"short by a byte":        {right[:len(right)-1], "ended within frame 27"},
		"short by a frame":       {strings.TrimSuffix(right, frames[27]), "ended within frame 27"},
		"a frame is missing":     {without(8), "frame 8:"},
		"two have changed place": {strings.Replace(right, frames[4]+frames[5], frames[5]+frames[4], 1), "frame 4:"},
		"a frame stands twice":   {strings.Replace(right, frames[6], frames[6]+frames[6], 1), "frame 7:"},
		"a byte is another":      {strings.Replace(right, "c-00000003", "c-00000004", 1), "frame 9:"},
		"too long":               {right + frames[3], "after the end (frame 28)"},
		"a comment":              {frames[0] + ": holdpoint\n\n" + strings.Join(frames[1:], ""), "frame 1:"},
		"as Holdpoint tells it":  {whole(sample(), formRewritten), "frame 3:"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, piece := range []int{1, 50, len(right) + 1000} {
				if err := feed(newChecker(sample(), formSent), c.stream, piece); err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("in pieces of %d: %v, want %q", piece, err, c.want)
				}
			}
		})
	}
}

// TestHeartbeatsOfHoldpoint: a checker must accept a comment that Holdpoint sends between frames,
// and must not count it as a frame. It must refuse a comment within a frame.
func TestHeartbeatsOfHoldpoint(t *testing.T) {
	frames := strings.SplitAfter(whole(sample(), formRewritten), "\n\n")
	stream := strings.Join(frames, ": holdpoint\n\n")
	for _, piece := range []int{1, 5, 300, len(stream)} {
		c := newChecker(sample(), formRewritten)
		if err := feed(c, stream, piece); err != nil || c.frames != sample().frames() {
			t.Errorf("in pieces of %d: %d frames, %v", piece, c.frames, err)
		}
	}
	inside := frames[0][:20] + ": holdpoint\n\n" + frames[0][20:] + strings.Join(frames[1:], "")
	for _, piece := range []int{1, 5, len(inside)} {
		if err := feed(newChecker(sample(), formRewritten), inside, piece); err == nil {
			t.Errorf("in pieces of %d: a comment within a frame passed", piece)
		}
	}
}

func TestPauseIsJudgedByItsEnd(t *testing.T) {
	s := sample()
	s.checkPause = endsInPause
	known := strings.TrimSuffix(whole(sample(), formRewritten), whole(script{tail: sample().tail}, formRewritten))
	paused := `data: {"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"a~1"},{"id":"b~2"}]}}` + "\n\n"
	c := newChecker(s, formRewritten)
	if err := feed(c, known+`data: {"type":"TEXT_MESSAGE_END","messageId":"m1"}`+"\n\n"+paused, 9); err != nil {
		t.Fatal(err)
	}
	if ids, err := interruptIDs(c.rest); err != nil || fmt.Sprint(ids) != "[a~1 b~2]" {
		t.Errorf("%q, %v", ids, err)
	}
	for _, rest := range []string{"", `data: {"type":"RUN_FINISHED","threadId":"t","runId":"r"}` + "\n\n", paused + `data: {"type":"RUN_ERROR","message":"no"}` + "\n\n"} {
		if err := feed(newChecker(s, formRewritten), known+rest, 9); err == nil {
			t.Errorf("%q passed for a pause", rest)
		}
	}
	// If Holdpoint does not stand between, the run must end as the origin ends it.
	if err := feed(newChecker(s, formSent), whole(sample(), formSent), 9); err != nil {
		t.Error(err)
	}
}

func TestPacedFramesTellTheirAge(t *testing.T) {
	sent := stampedAt(t, 1_000_000)
	for _, f := range []form{formSent, formReencoded} {
		frame := sent
		if f == formReencoded {
			event, err := reencode([]byte(strings.TrimSuffix(strings.TrimPrefix(frame, "data: "), "\n\n")))
			if err != nil {
				t.Fatal(err)
			}
			frame = string(appendFrame(nil, string(event)))
		}
		c := newDelayReader(f)
		if err := c.take([]byte(frame[:50]), at(2_000_000)); err != nil || len(c.delays) != 0 {
			t.Fatalf("a part of a frame: %v, %v", c.delays, err)
		}
		if err := c.take([]byte(frame[50:]+frame), at(3_500_000)); err != nil || fmt.Sprint(c.delays) != "[2500 2500]" {
			t.Errorf("form %d: %v, %v", f, c.delays, err)
		}
		if err := c.take([]byte(strings.Replace(frame, "agent", "Agent", 1)), at(4_000_000)); err == nil {
			t.Error("a changed frame passed")
		}
	}
	if len(sent) != frameBytes {
		t.Errorf("%d bytes", len(sent))
	}
}

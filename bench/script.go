package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// mark is a placeholder in a block. The number of the repetition replaces it, so that all frames of
// a stream differ.
const mark = "########"

// A script is a stream that the origin sends and the load generator expects.
type script struct {
	head   []frame
	block  []frame // repeated as often as cycles says, see mark
	cycles int
	tail   []frame
	crlf   bool // the origin ends lines with CRLF, and Holdpoint with LF
	// checkPause is set if the run ends in a pause. It checks what Holdpoint sends in place of tail.
	checkPause func(rest []byte) error
}

// A frame is one event of a script.
type frame struct {
	event     string // the event's JSON
	rewritten string // the event as Holdpoint sends it; "" if it does not change
}

// frames returns the number of frames that the origin sends.
func (s script) frames() int { return len(s.head) + s.cycles*len(s.block) + len(s.tail) }

// A form is how a proxy changes the stream of a script.
type form int

const (
	formSent      form = iota
	formRewritten      // changed by Holdpoint
	formReencoded      // decoded and encoded again
)

// A part is a piece of a stream, with the number of times that it is repeated.
type part struct {
	bytes       []byte
	markOffsets []int
	frames      int
	times       int
}

// parts returns the script's stream in the given form: head, block and tail.
func (s script) parts(f form) []part {
	encode := func(list []frame, times int) part {
		var b []byte
		for _, fr := range list {
			event := fr.event
			switch {
			case f == formRewritten && fr.rewritten != "":
				event = fr.rewritten
			case f == formReencoded:
				again, err := reencode([]byte(event))
				if err != nil {
					panic(fmt.Sprintf("bench: the script has no event in %q: %v", event, err))
				}
				event = string(again)
			}
			b = appendEnding(b, event, s.lineEnd(f))
		}
		return newPart(b, len(list), times)
	}
	list := []part{encode(s.head, 1), encode(s.block, s.cycles)}
	if f != formRewritten || s.checkPause == nil {
		list = append(list, encode(s.tail, 1))
	}
	return list
}

// chunks returns the script's stream as the origin writes it, with per frames in each HTTP chunk.
func (s script) chunks(per int) []part {
	encode := func(list []frame, times int) part {
		var b, chunk []byte
		for n, fr := range list {
			chunk = appendEnding(chunk, fr.event, s.lineEnd(formSent))
			if (n+1)%per == 0 || n == len(list)-1 {
				b = fmt.Appendf(b, "%x\r\n%s\r\n", len(chunk), chunk)
				chunk = chunk[:0]
			}
		}
		return newPart(b, len(list), times)
	}
	return []part{encode(s.head, 1), encode(s.block, s.cycles), encode(s.tail, 1)}
}

func newPart(b []byte, frames, times int) part {
	p := part{bytes: b, frames: frames, times: times}
	for at := 0; ; {
		i := bytes.Index(b[at:], []byte(mark))
		if i < 0 {
			return p
		}
		p.markOffsets = append(p.markOffsets, at+i)
		at += i + len(mark)
	}
}

// setNumber writes n into the marks of the part.
func (p part) setNumber(n int) {
	var digits [len(mark)]byte
	for i := len(digits) - 1; i >= 0; i-- {
		digits[i] = byte('0' + n%10)
		n /= 10
	}
	for _, at := range p.markOffsets {
		copy(p.bytes[at:], digits[:])
	}
}

// lineEnd returns the line end of the script's stream in the given form.
func (s script) lineEnd(f form) string {
	if s.crlf && f == formSent {
		return "\r\n"
	}
	return "\n"
}

func appendFrame(dst []byte, event string) []byte { return appendEnding(dst, event, "\n") }

func appendEnding(dst []byte, event, lineEnd string) []byte {
	dst = append(dst, "data: "...)
	dst = append(dst, event...)
	dst = append(dst, lineEnd...)
	return append(dst, lineEnd...)
}

// reencode decodes an event and encodes it again, as a proxy does that does not forward the
// original bytes.
func reencode(event []byte) ([]byte, error) {
	var v map[string]any
	if err := json.Unmarshal(event, &v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

// An order is a request of the load generator to the origin. It names a script and its size.
type order struct {
	script         string
	route          string // a part of the path; "" means the name of the script
	cycles         int
	framesPerChunk int // number of frames in each HTTP chunk
	bursts         int // at the gate: the number of bursts that the cycles are divided into
	thread, run    string
	message        string // id of the user's message; "" means the run id
	history        int    // number of messages before the user's message
}

func (o order) path() string {
	route := o.route
	if route == "" {
		route = o.script
	}
	if o.bursts > 0 {
		return "/held/" + route + "?" + o.query()
	}
	return "/run/" + route + "?" + o.query()
}

func (o order) query() string {
	return fmt.Sprintf("script=%s&cycles=%d&per=%d&bursts=%d&thread=%s&run=%s", o.script, o.cycles, o.framesPerChunk, o.bursts, o.thread, o.run)
}

// makeScript returns the script of the order, with its number of cycles.
func (o order) makeScript() (script, error) {
	one, ok := scripts[o.script]
	if !ok {
		return script{}, fmt.Errorf("no script %q", o.script)
	}
	s := one(o)
	s.cycles = o.cycles
	return s, nil
}

func (o order) startFrame() frame { return o.boundaryFrame("RUN_STARTED") }

func (o order) finishFrame() frame { return o.boundaryFrame("RUN_FINISHED") }

func (o order) boundaryFrame(kind string) frame {
	return frame{event: fmt.Sprintf(`{"type":"%s","threadId":"%s","runId":"%s"}`, kind, o.thread, o.run)}
}

// frameBytes is the size of a small frame in bytes: one or two tokens with the ids.
const frameBytes = 200

// text returns a frame with a piece of a message. The frame has size bytes.
func text(message string, n, size int) frame {
	begin := fmt.Sprintf(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"%s","delta":"%s.%04d `, message, mark, n)
	return frame{event: begin + filler(size-len(begin)-len(`data: "}`)-2) + `"}`}
}

// filler returns a text of n bytes. It consists of words, so that it takes as long to escape and to
// search as real text.
func filler(n int) string {
	const words = "the agent reads what it was told and answers in small pieces, "
	return strings.Repeat(words, n/len(words)+1)[:max(n, 0)]
}

func repeat(n int, one func(n int) frame) []frame {
	list := make([]frame, n)
	for i := range list {
		list[i] = one(i)
	}
	return list
}

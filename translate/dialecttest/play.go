package dialecttest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// A Played is what a dialect made of a stream that was played to its run.
type Played struct {
	Emitted  []agui.Event
	Result   translate.Result
	Err      error // the errors of Event, Decode and End, joined
	received []string
}

// Play plays an AG-UI stream to a run, and then calls its End. The stream ends with its first
// terminal event. If it has none, End gets no terminal event.
func Play(run translate.Run, l *Log, stream ...string) Played {
	for n, s := range stream {
		if ev := Event(s); ev.Type.Terminal() {
			return PlayTo(run, l, translate.End{Event: ev}, stream[:n]...)
		}
	}
	return PlayTo(run, l, translate.End{}, stream...)
}

// PlayTo plays the events to a run, and then calls its End with the parameter end. A run may use
// the bytes of an event only during the call, so PlayTo overwrites them afterwards.
func PlayTo(run translate.Run, l *Log, end translate.End, events ...string) Played {
	return playTo(run, l, end, Event, events)
}

func playTo(run translate.Run, l *Log, end translate.End, as func(string) agui.Event, events []string) Played {
	p := Played{received: events}
	for _, s := range events {
		if p.Err = p.show(run, l, as(s)); p.Err != nil {
			break
		}
	}
	p.end(run, l, end)
	return p
}

func (p *Played) show(run translate.Run, l *Log, ev agui.Event) error {
	err := run.Event(ev, func(ev agui.Event) {
		ev = ev.Clone()
		p.Emitted = append(p.Emitted, ev)
		l.Add(ev)
	})
	overwrite(ev.JSON)
	overwrite(ev.Frame)
	return err
}

func (p *Played) end(run translate.Run, l *Log, end translate.End) {
	var err error
	p.Result, err = run.End(end)
	p.Err = errors.Join(p.Err, err)
	p.Result.Finish, p.Result.HeldEvents = p.Result.Finish.Clone(), slices.Clone(p.Result.HeldEvents)
	for n, ev := range p.Result.HeldEvents {
		p.Result.HeldEvents[n] = ev.Clone()
		l.Add(ev)
	}
	overwrite(end.Event.JSON)
	overwrite(end.Event.Frame)
}

// Decode plays pieces of a backend's own stream to a run that is a translate.Decoder, and then
// calls its End. The stream ends with the first terminal event that the run decodes. The parameter
// cut says that the stream breaks off after the pieces. An invalid event is an error.
func Decode(run translate.Run, l *Log, cut bool, pieces ...translate.Piece) Played {
	var p Played
	end := translate.End{Cut: cut}
	for _, piece := range pieces {
		err := run.(translate.Decoder).Decode(piece, func(ev agui.Event) {
			p.received = append(p.received, string(ev.JSON))
			switch {
			case end.Event.Type.Terminal() || p.Err != nil:
			case !ev.Valid():
				p.Err = fmt.Errorf("no event: %s", ev.JSON)
			case ev.Type.Terminal():
				end = translate.End{Event: ev.Clone()}
			default:
				p.Err = p.show(run, l, ev)
			}
		})
		overwrite(piece.Name)
		overwrite(piece.Data)
		if p.Err = errors.Join(p.Err, err); p.Err != nil || end.Event.Type.Terminal() {
			break
		}
	}
	p.end(run, l, end)
	return p
}

func overwrite(b []byte) {
	for n := range b {
		b[n] = 'x'
	}
}

// Event returns the event as the package proxy would read it from a frame with the data s.
func Event(s string) agui.Event {
	return agui.Event{Type: agui.PeekType([]byte(s)), JSON: []byte(s), Frame: []byte("data: " + s + "\n\n")}
}

// asPassed returns the event as the package proxy passes it to a run. If the JSON of a RUN_STARTED,
// RUN_FINISHED, RUN_ERROR or CUSTOM is invalid, the event gets the type Unknown. If a
// RUN_FINISHED has a key twice, only the last member with that key is kept.
func asPassed(s string) agui.Event {
	ev := Event(s)
	switch ev.Type {
	case agui.RunStarted, agui.RunFinished, agui.RunErrored, agui.Custom:
		if !ev.Valid() {
			ev.Type = agui.Unknown
		} else if last := agui.WithLastKeys(ev.JSON); len(last) != len(ev.JSON) && ev.Type == agui.RunFinished {
			ev = ev.WithJSON(last)
		}
	}
	return ev
}

// All returns the events that are sent to the client, without the terminal event.
func (p Played) All() []agui.Event { return append(slices.Clone(p.Emitted), p.Result.HeldEvents...) }

// Types returns the types of the events in All, separated by spaces.
func (p Played) Types() string {
	var list []string
	for _, ev := range p.All() {
		list = append(list, string(ev.Type))
	}
	return strings.Join(list, " ")
}

// Text returns the JSON of the events in All, one on each line.
func (p Played) Text() string {
	var list []string
	for _, ev := range p.All() {
		list = append(list, string(ev.JSON))
	}
	return strings.Join(list, "\n")
}

// ChangedEvent returns an error for the first event of the stream that was not emitted, or that was
// emitted changed or in another order. It ignores events that the dialect made itself.
func (p Played) ChangedEvent() error {
	came := p.received
	for _, ev := range p.Emitted {
		switch {
		case ev.Frame == nil:
		case len(came) == 0 || ev.Edited || string(ev.Frame) != string(Event(came[0]).Frame):
			return fmt.Errorf("touched: %s", ev.JSON)
		default:
			came = came[1:]
		}
	}
	if len(came) > 0 {
		return fmt.Errorf("not emitted: %s", came[0])
	}
	return nil
}

// Pieces cuts a whole response into pieces, as the package proxy does.
func Pieces(f translate.Framing, answer string) (list []translate.Piece) {
	switch f {
	case translate.Unread:
	case translate.Frames:
		for block := range strings.SplitSeq(strings.ReplaceAll(answer, "\r\n", "\n"), "\n\n") {
			if p := frame(block); p.Data != nil {
				list = append(list, p)
			}
		}
	case translate.Lines:
		for line := range strings.SplitSeq(answer, "\n") {
			if line = strings.TrimSuffix(line, "\r"); strings.TrimSpace(line) != "" {
				list = append(list, translate.Piece{Data: []byte(line)})
			}
		}
	case translate.Whole, translate.Text:
		list = []translate.Piece{{Data: []byte(answer)}}
	}
	return list
}

func frame(block string) (p translate.Piece) {
	var data [][]byte
	for line := range strings.SplitSeq(block, "\n") {
		name, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimPrefix(value, " "); name {
		case "data":
			data = append(data, []byte(value))
		case "event":
			p.Name = []byte(value)
		}
	}
	if data != nil {
		p.Data = bytes.Join(data, []byte("\n"))
	}
	return p
}

// Split cuts a text in two near the offset at. It does not cut a character.
func Split(text []byte, at int) (first, rest []byte) {
	for at = min(at, len(text)); at > 0 && at < len(text) && !utf8.RuneStart(text[at]); at-- {
	}
	return text[:at:at], text[at:]
}

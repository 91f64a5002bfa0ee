package settle

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/client"
	"holdpoint/proxy/internal/ids"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

const (
	// PauseFrames limits the saved data of a pause: all of it together may have at most PauseFrames
	// times the size of the largest frame. A question is saved as the backend sent it, as the
	// client gets it, and as data of the dialect.
	PauseFrames = 4
	// maxPauseBytes is the largest size of a pause's data, whatever the largest frame is. Frames
	// may be much larger than any question, because they repeat whole conversations, and the store
	// keeps a pause for weeks.
	maxPauseBytes = 32 << 20
)

// native reports whether the client gets questions in the backend's own form.
func (f *Facts) native() bool { return f.Listener.Show == translate.ShowNative }

// tooMuch returns an error if the questions are too many or too large to be sent to the client.
// Nobody could answer them then. Otherwise it returns nil.
func (f *Facts) tooMuch(res *translate.Result) *agui.RunError {
	p := &res.Asked
	if len(p.Interrupts) > kit.MaxQuestions {
		return agui.Errorf(agui.PauseTooLarge, textTooManyQuestions, len(p.Interrupts), kit.MaxQuestions)
	}
	size := len(res.Finish.JSON) + len(p.Private) + len(p.NativeFinish)
	for _, i := range p.Interrupts {
		size += len(i.Object) + len(i.Private)
	}
	for _, ev := range p.NativeEvents {
		size += len(ev)
	}
	if limit := min(PauseFrames*f.Limits.FrameBytes, maxPauseBytes); size > limit {
		return agui.Errorf(agui.PauseTooLarge, textTooLarge, limit, PauseFrames)
	}
	if !f.native() && !f.Transcript.KnowsOpen() {
		return agui.Errorf(agui.PauseTooLarge, textTooMuchOpen)
	}
	return nil
}

// pause returns the pause for the questions with which the run ends. The questions have the ids
// that the client sees, and the calls that they are about. The error says why the earlier replies
// are not known, see Facts.EarlierReplies; the pause is valid nevertheless.
func (f *Facts) pause(res *translate.Result) (_ *agui.Pause, lookupErr error) {
	p := res.Asked.Pause(f.Dialect)
	p.Backend, p.ID, p.AddressHash, p.Origin = res.Backend, f.PauseID, f.AddressHash, f.Origin
	p.NewOnly = f.NewOnly
	f.noteCalls(p.Interrupts)
	f.askYesNo(&p)
	for n := range p.Interrupts {
		i := &p.Interrupts[n]
		if i.Yes == nil && i.No == nil {
			i.Yes, i.No = kit.Words(*i)
		}
		if i.ReasonMember == "" {
			i.ReasonMember = kit.ReasonMember(*i)
		}
		i.Secret = i.Secret || kit.WantsSecret(i.Schema())
	}
	p.Digest = digestInterrupts(p.Interrupts...)
	if p.EarlierReplies, lookupErr = f.EarlierReplies(&p); lookupErr != nil {
		for n := range p.Interrupts {
			p.Interrupts[n].Keys = nil // no message can answer this question
		}
	}
	p.Finish = slices.Clone(f.Listener.WithIDs(res.Finish).JSON)
	p.ByText = f.Listener.AsksByText(&p)
	natives := map[string]int{}
	for _, i := range p.Interrupts {
		natives[i.Native]++
	}
	for n := range p.Interrupts {
		f.publish(&p, &p.Interrupts[n], natives)
	}
	for n, own := range p.Native {
		p.Native[n] = client.WithPublishedID(own, &p)
	}
	return &p, lookupErr
}

// publish sets the id under which the client sees a question. natives has, for each id of the
// backend, the number of questions that have it.
func (f *Facts) publish(p *agui.Pause, i *agui.Interrupt, natives map[string]int) {
	if i.Question == "" {
		asks := *i
		// when a question is repeated, its expiry differs
		asks.Object = agui.DeleteKey(asks.Object, "expiresAt")
		if i.Question = p.Digest; len(p.Interrupts) > 1 || len(asks.Object) != len(i.Object) {
			i.Question = digestInterrupts(asks)
		}
	}
	for k := range i.Keys {
		i.Keys[k] = strings.Clone(i.Keys[k])
	}
	i.Native = strings.Clone(i.Native) // a copy, because it may share memory with the request or an event
	i.ID = printableID(i.Native)
	// A client that gets the backend's own form answers with the backend's id, so that id is not
	// changed then. A .NET client that gets the question as a text does not answer it. But its next
	// request may be on another thread, and then the random part of the id in that text leads to
	// the question.
	keep := f.native() && i.ID == i.Native && !(p.ByText && f.Listener.Line.TakesNewThreads())
	if !keep || i.Native == "" || natives[i.Native] > 1 {
		i.ID += "~" + f.NewID()
	}
	var expires time.Time
	if f.Limits.InterruptTTL > 0 {
		expires = f.Now.Add(f.Limits.InterruptTTL)
	}
	client.PublishID(i, expires)
}

// fill adds the conversation to the pause: the messages, the state, and the messages seen so far.
func (f *Facts) fill(p *agui.Pause, o *Outcome) {
	p.Messages, p.State, p.SeenMessages = o.ShownSnapshots.Messages, o.ShownSnapshots.State, seenMessages(f.knownSnapshots(o), f.ClientMessages, o.Extra)
	if p.Continuation = f.Continuation; p.Continuation == nil {
		return
	}
	switch lacks := &p.Continuation.ChatOnlyReasons; {
	case o.ShownSnapshots.IsComplete && p.Messages == nil:
		p.Messages = json.RawMessage(`[]`) // the thread is known to have no messages
	case o.ShownSnapshots.IsComplete:
	case slices.Contains(*lacks, agui.NoForm):
		*lacks = slices.Insert(*lacks, slices.Index(*lacks, agui.NoForm), agui.NoMessages)
	default:
		*lacks = append(*lacks, agui.NoMessages)
	}
}

// noteCalls adds to each question the calls that it names. It takes a call from the transcript,
// which has it as the client saw it. If the transcript was too large and lacks the call, it takes
// the call from the dialect.
func (f *Facts) noteCalls(list []agui.Interrupt) {
	for n := range list {
		i := &list[n]
		call, known := f.Transcript.AskedCall(i.ToolCallID())
		i.CallUnseen = i.CallUnseen && !known && i.ToolCallID() != ""
		if i.Calls == nil {
			if known {
				i.Calls = []agui.AskedCall{call}
			}
			continue
		}
		for n, c := range i.Calls {
			if call, known := f.Transcript.AskedCall(c.ID); known && !call.ArgumentsUnknown {
				i.Calls[n] = call
			}
		}
	}
}

// askYesNo turns questions that accept any value into questions for a yes or a no, if the operator
// has configured which values mean yes and no.
func (f *Facts) askYesNo(p *agui.Pause) {
	if f.Describer == nil || len(f.YesNo) == 0 {
		return
	}
	for n := range p.Interrupts {
		i := &p.Interrupts[n]
		if i.CancelOnly || i.Schema() != nil {
			continue
		}
		if about, free := f.Describer.Describe(*p, i); free {
			f.YesNo.Ask(i, about)
		}
	}
}

// printableID returns a backend's id in which each control character, line separator and invalid
// UTF-8 byte is replaced by U+FFFD, because an address, a log line or a chat message cannot contain
// them. Some backends build the id from something that the client sent, such as its thread id.
func printableID(native string) string {
	return strings.Map(func(c rune) rune {
		if unicode.In(c, unicode.Cc, unicode.Zl, unicode.Zp) {
			return utf8.RuneError
		}
		return c
	}, native)
}

// digestInterrupts returns a digest of the questions. It does not cover the ids that Holdpoint made
// for them.
func digestInterrupts(list ...agui.Interrupt) string {
	b := make([]byte, 0, 1<<10)
	for _, i := range list {
		b = append(agui.AppendString(append(b, '['), i.Native), ',')
		object := agui.Canonical(agui.DeleteKey(i.Object, "id"))
		b = agui.AppendString(b, agui.View(object).Raw)
		for _, c := range i.Calls {
			b = agui.AppendString(agui.AppendString(append(b, ','), c.Name), c.Args)
		}
		b = append(b, ']')
	}
	sum := sha256.Sum256(b)
	return ids.Hex(sum[:])
}

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
	// PauseFrames is how many of the largest frames all that is kept of a pause may have. A question
	// stands there as the backend asked it, as the client is told it, and in what the dialect keeps.
	PauseFrames = 4
	// maxPauseBytes bounds a pause where frames may be larger than any question: they repeat whole
	// conversations, and a pause is kept for weeks.
	maxPauseBytes = 32 << 20
)

// native reports whether the client is shown the backend's own form, and nothing that is made.
func (f *Facts) native() bool { return f.Listener.Show == translate.ShowNative }

// tooMuch says why a pause cannot be told, so that nobody could answer it. It is nil if it can.
func (f *Facts) tooMuch(res *translate.Result) *agui.RunError {
	p := &res.Asked
	if len(p.Interrupts) > kit.MaxQuestions {
		return agui.Errorf(agui.PauseTooLarge, textTooManyQuestions, len(p.Interrupts), kit.MaxQuestions)
	}
	size := len(res.Finish.JSON) + len(p.Private) + len(p.OwnFinish)
	for _, i := range p.Interrupts {
		size += len(i.Object) + len(i.Private)
	}
	for _, ev := range p.Own {
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

// pause makes the pause of what the run asks: it gives the questions the ids that the client sees,
// and notes with them what they are about.
func (f *Facts) pause(res *translate.Result) (_ *agui.Pause, stoodUnknown error) {
	p := res.Asked.Pause(f.Dialect)
	p.Backend, p.ID, p.From, p.Origin = res.Backend, f.PauseID, f.From, f.Origin
	p.NewOnly = f.NewOnly
	f.noteCalls(p.Interrupts)
	f.askYesNo(&p)
	for n := range p.Interrupts {
		i := &p.Interrupts[n]
		if i.Yes == nil && i.No == nil {
			i.Yes, i.No = kit.Words(*i)
		}
		if i.Because == "" {
			i.Because = kit.ReasonMember(*i)
		}
		i.Secret = i.Secret || kit.WantsSecret(i.Schema())
	}
	p.Digest = digestInterrupts(p.Interrupts...)
	if p.EarlierReplies, stoodUnknown = f.EarlierReplies(&p); stoodUnknown != nil {
		for n := range p.Interrupts {
			p.Interrupts[n].Keys = nil // no message answers it
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
	return &p, stoodUnknown
}

// publish gives a question the id that the client sees. natives counts the backend's ids.
func (f *Facts) publish(p *agui.Pause, i *agui.Interrupt, natives map[string]int) {
	if i.Question == "" {
		asks := *i
		asks.Object = agui.DeleteKey(asks.Object, "expiresAt") // asked again, it has another
		if i.Question = p.Digest; len(p.Interrupts) > 1 || len(asks.Object) != len(i.Object) {
			i.Question = digestInterrupts(asks)
		}
	}
	for k := range i.Keys {
		i.Keys[k] = strings.Clone(i.Keys[k])
	}
	i.Native = strings.Clone(i.Native) // it may lie in the request's body or in an event
	i.ID = printableID(i.Native)
	// A client that is shown the backend's own form answers with the backend's own ids. One of .NET's
	// that is told a text answers nothing, and the id of that text leads to the question from another
	// thread.
	keep := f.native() && i.ID == i.Native && !(p.ByText && f.Listener.Line.TakesNewThreads())
	if !keep || i.Native == "" || natives[i.Native] > 1 {
		i.ID += "~" + f.NewID()
	}
	var expires time.Time
	if f.Limits.InterruptTTL > 0 {
		expires = f.Now.Add(f.Limits.InterruptTTL)
	}
	client.Publish(i, expires)
}

// fill adds to the pause what is kept with it of the conversation.
func (f *Facts) fill(p *agui.Pause, o *Outcome) {
	p.Messages, p.State, p.Seen = o.Shown.Messages, o.Shown.State, seen(f.knownSnapshots(o), f.ClientMessages, o.Extra)
	if p.Continuation = f.Continuation; p.Continuation == nil {
		return
	}
	switch lacks := &p.Continuation.Lacks; {
	case o.Shown.Whole && p.Messages == nil:
		p.Messages = json.RawMessage(`[]`) // of a thread whose agent keeps no messages: it is known
	case o.Shown.Whole:
	case slices.Contains(*lacks, agui.NoForm):
		*lacks = slices.Insert(*lacks, slices.Index(*lacks, agui.NoForm), agui.NoMessages)
	default:
		*lacks = append(*lacks, agui.NoMessages)
	}
}

// noteCalls notes with each question the call that it names. What the client has of a call holds
// before what the dialect knows of it; that stands where the transcript was too large.
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
			if call, known := f.Transcript.AskedCall(c.ID); known && !call.Unknown {
				i.Calls[n] = call
			}
		}
	}
}

// askYesNo makes questions for any value ones for a yes or a no, where the operator has said what
// those are.
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

// printableID returns a backend's id without what an address, a log line or a message of a chat
// cannot carry: each control character, line separator and byte of broken UTF-8 becomes U+FFFD.
// Some backends make the id of what the client sent, such as its thread id.
func printableID(native string) string {
	return strings.Map(func(c rune) rune {
		if unicode.In(c, unicode.Cc, unicode.Zl, unicode.Zp) {
			return utf8.RuneError
		}
		return c
	}, native)
}

// digestInterrupts returns a digest of the questions, without the ids that were minted for them.
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

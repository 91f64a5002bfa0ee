package agui

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestIndexedPause: Indexed returns a copy of a pause with an index. The methods of this copy must
// return the same as those of the pause without an index.
func TestIndexedPause(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := func(what string) string {
			return rapid.SampledFrom([]string{"", "a", "b", "c", "d"}).Draw(t, what)
		}
		var p Pause
		for range rapid.IntRange(0, 6).Draw(t, "interrupts") {
			p.Interrupts = append(p.Interrupts, Interrupt{
				ID: id("id"), Native: id("native"), Object: fmt.Appendf(nil, `{"toolCallId":%q}`, id("call")),
			})
		}
		for range rapid.IntRange(0, 4).Draw(t, "seen") {
			p.SeenMessages = append(p.SeenMessages, SeenMessage{ID: id("message")})
		}
		indexed := p.Indexed()
		for _, asked := range []string{"", "a", "b", "c", "d", "e"} {
			var first, named *Interrupt
			var about []int
			natives := 0
			for n := range p.Interrupts {
				i := &p.Interrupts[n]
				if i.ID == asked && first == nil {
					first = i
				}
				if i.Native == asked && asked != "" {
					natives++
					named = i
				}
				if i.ToolCallID() == asked {
					about = append(about, n)
				}
			}
			if natives != 1 {
				named = nil
			}
			if first != nil {
				named = first
			}
			knows := slices.Contains(p.SeenMessages, SeenMessage{ID: asked})
			for what, one := range map[string]*Pause{"bare": &p, "indexed": &indexed} {
				if one.Interrupt(asked) != first || one.InterruptNamed(asked) != named || !reflect.DeepEqual(one.InterruptsAbout(asked), about) || one.HasMessage(SeenMessage{ID: asked}) != knows {
					t.Fatalf("%s: %q of %+v", what, asked, p)
				}
			}
		}
	})
}

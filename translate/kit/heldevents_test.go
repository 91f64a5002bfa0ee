package kit

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"holdpoint/internal/agui"
)

// TestHeld checks that each held event is released exactly once, unchanged and in order. Full must
// report true once the events that are still held have more than Max bytes.
func TestHeld(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type one struct {
			of   string
			text string
		}
		h := HeldEvents[string]{Max: rapid.IntRange(0, 200).Draw(t, "max")}
		var model []one
		take := func(of string, all bool) (want []string) {
			model = slices.DeleteFunc(model, func(o one) bool {
				if gone := all || o.of == of; gone {
					want = append(want, o.text)
					return true
				}
				return false
			})
			return want
		}
		check := func(got []agui.Event, want []string) {
			if !slices.EqualFunc(got, want, func(ev agui.Event, text string) bool { return string(ev.JSON) == text }) {
				t.Fatalf("%v came out, want %v", got, want)
			}
		}
		for n := range rapid.IntRange(0, 40).Draw(t, "steps") {
			of := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "of")
			switch rapid.IntRange(0, 9).Draw(t, "do") {
			case 0:
				check(h.ReleaseAll(), take("", true))
			case 1, 2:
				check(h.Release(of), take(of, false))
			default:
				text := fmt.Sprintf(`{"type":"CUSTOM","name":"%d"}`, n)
				ev := agui.NewEvent([]byte(text))
				h.Add(of, ev)
				clear(ev.JSON) // an event is valid only during the call of Add
				model = append(model, one{of, text})
			}
			size := 0
			for _, o := range model {
				size += len(o.text)
			}
			if h.Size() != size || h.Full() != (size > h.Max) || h.Empty() != (len(model) == 0) {
				t.Fatalf("full %v, empty %v with %d bytes of %d", h.Full(), h.Empty(), size, h.Max)
			}
		}
		check(h.ReleaseAll(), take("", true))
	})
}

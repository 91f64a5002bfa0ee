package proxy_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/clients"
	"holdpoint/proxy"
)

// TestNoClientGetsWhatItCannotRead plays the first responses of every scenario to each .NET client.
// The client must get no type of event that it does not know. It must get the same text as a client
// that reads every event, and the end of the run.
func TestNoClientGetsWhatItCannotRead(t *testing.T) {
	t.Parallel()
	for _, s := range someScenarios(t, 2) {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			first := gjson.ParseBytes(s.request(1))
			tools := ""
			if list := first.Get("tools"); list.IsArray() && len(list.Array()) > 0 {
				tools = `,"tools":` + list.Raw
			}
			play := func(run, user, more string) []agui.Event {
				st := newStage(t, s, delivery{})
				defer st.close()
				st.begin(1)
				st.handler = st.options(func(o *proxy.Options) { o.Client = proxy.ClientAuto })
				return eventsIn(st.post([]byte(fmt.Sprintf(`{"threadId":"t","runId":%q,"messages":[%s]%s%s}`, run, user, tools, more))))
			}
			all := play("r1", `{"id":"u1","role":"user","content":"go"}`, "")
			if len(all) == 0 {
				return // not a stream: an HTTP error is forwarded unchanged
			}
			for _, reader := range []struct {
				line            *clients.Line
				run, user, more string
			}{
				{clients.InTree, "run_0d66c3ca00004ab4b96e8b2898de1e9a", `{"name":null,"id":"u1","role":"user","content":"go"}`, `,"context":[]`},
				{clients.SDK, "run_OZLVt2DmBrMeqZz7wpQrf3r5", `{"role":"user","content":"go"}`, ""},
			} {
				got := play(reader.run, reader.user, reader.more)
				for _, ev := range got {
					if !reader.line.Reads(agui.PeekType(ev.JSON)) {
						t.Errorf("%s got %s", reader.line, ev.JSON)
					}
				}
				if len(got) == 0 || !got[len(got)-1].Type.Terminal() {
					t.Errorf("%s: the stream has no end", reader.line)
				}
				texts := textsOf(got)
				for _, text := range textsOf(all) {
					if at := slices.Index(texts, text); at < 0 {
						t.Errorf("%s: no message says %q: %q", reader.line, text, texts)
					} else {
						texts = slices.Delete(texts, at, at+1)
					}
				}
			}
		})
	}
}

// eventsIn returns the events of a stream. If the bytes are not a stream, it returns nil.
func eventsIn(stream []byte) []agui.Event {
	frames, _ := split(string(stream))
	var list []agui.Event
	for _, frame := range frames {
		if data, ok := dataOf(frame); ok {
			list = append(list, agui.NewEvent([]byte(data)))
		}
	}
	return list
}

// textsOf returns the texts of the messages in a stream. It does not return the ids of the
// messages, because they may depend on the run id.
func textsOf(events []agui.Event) []string {
	texts, last := map[string]string{}, ""
	for _, ev := range events {
		switch ev.Type {
		case agui.TextContent, agui.TextChunk:
			if id := ev.Get("messageId").Str; id != "" {
				last = id
			}
			texts[last] += ev.Get("delta").Str
		}
	}
	return slices.Collect(maps.Values(texts))
}

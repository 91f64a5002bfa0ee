package main

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/store/memory"
	"holdpoint/translate"
	"holdpoint/translate/dialects"
	"holdpoint/translate/kit"
	"holdpoint/translate/standard"
)

var _ translate.Signer = (*martian)(nil)

// A martian is a dialect as a user of Holdpoint would write one, in a folder of its own.
type martian struct {
	*standard.Dialect
	options martianOptions
}

type martianOptions struct {
	Word  string       `env:"WORD" means:"nothing" doc:"word by which Martians ask"`
	Moons int          `env:"MOONS" envDefault:"2" doc:"moons in sight"`
	No    kit.JSON     `env:"NO" envDefault:"false" means:"no" doc:"JSON for a no"`
	asked *atomic.Bool // whether the dialect auto has called this dialect
}

func (o martianOptions) Needs() string {
	if o.Word == "" {
		return "WORD"
	}
	return ""
}

func (o martianOptions) Check() []error {
	if o.Moons > 2 {
		return kit.WrongOption("MOONS", fmt.Errorf("want at most 2"))
	}
	return nil
}

func newMartian(o martianOptions, warn translate.Warn) (*martian, error) {
	if o.Moons == 1 {
		warn("one moon is behind the horizon", "variable", "HOLDPOINT_MARTIAN_MOONS")
	}
	return &martian{new(standard.Dialect), o}, nil
}

func (*martian) Name() string { return "martian" }

func (m *martian) Sign(agui.Event, *translate.Request) bool {
	m.options.asked.Store(true)
	return false
}

// TestOneLineIsADialect: a new dialect needs a folder and one line in the list of dialects, and
// nothing else. The configuration, `holdpoint check`, -h, the tables of the documents and the
// dialect auto must then include the new dialect.
func TestOneLineIsADialect(t *testing.T) {
	list := func() dialects.List { return dialects.With(dialects.All(), "martian", newMartian) }
	t.Run("configuration", func(t *testing.T) {
		for _, c := range []struct {
			set  []string
			want string
		}{
			{[]string{"HOLDPOINT_DIALECT=martian", "HOLDPOINT_MARTIAN_WORD=ack"}, ""},
			{[]string{"HOLDPOINT_DIALECT=martian"}, "HOLDPOINT_MARTIAN_WORD is not set, and dialect martian needs it: word by which Martians ask"},
			{[]string{"HOLDPOINT_MARTIAN_MOONS=many"}, `HOLDPOINT_MARTIAN_MOONS "many": want a whole number`},
			{[]string{"HOLDPOINT_MARTIAN_MOONS=3"}, `HOLDPOINT_MARTIAN_MOONS "3": want at most 2`},
			{[]string{"HOLDPOINT_MARTIAN_NO=true"}, `HOLDPOINT_MARTIAN_NO "true": it could be taken for an approval; want for example false`},
			{[]string{"HOLDPOINT_MARTIAN_MOON=1"}, "did you mean HOLDPOINT_MARTIAN_MOONS?"},
			{[]string{"HOLDPOINT_DIALECT=venusian"}, ", martian, "},
		} {
			_, err := load(append(c.set, upstream), list())
			if got := fmt.Sprint(err); c.want == "" && err != nil || !strings.Contains(got, c.want) {
				t.Errorf("%s: %v", c.set, err)
			}
		}
	})
	t.Run("check", func(t *testing.T) {
		out, err := os.Create(t.TempDir() + "/out")
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		environ := []string{upstream, "HOLDPOINT_MARTIAN_WORD=ack", "HOLDPOINT_MARTIAN_MOONS=1"}
		if code := check(environ, list(), false, true, terminal{out: out, err: out}); code != exitOK {
			t.Errorf("exit %d", code)
		}
		text, err := os.ReadFile(out.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"HOLDPOINT_MARTIAN_WORD ack", "HOLDPOINT_MARTIAN_MOONS 1", "warning: one moon is behind the horizon [variable HOLDPOINT_MARTIAN_MOONS]"} {
			if !strings.Contains(strings.Join(strings.Fields(string(text)), " "), want) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
	})
	t.Run("reference", func(t *testing.T) {
		known := newSettings(list()).variables()
		var help bytes.Buffer
		printTopic(&help, newSettings(list()), "agent")
		printTopic(&help, newSettings(list()), optionsTopic)
		for name, text := range map[string]string{"-h": help.String(), "table": markdownTable(known)} {
			text = strings.NewReplacer("//", "", "\n", "").Replace(text)
			for _, want := range []string{"HOLDPOINT_MARTIAN_WORD", "moons in sight", ", martian, "} {
				if !strings.Contains(strings.Join(strings.Fields(text), " "), want) {
					t.Errorf("%s: no %q", name, want)
				}
			}
		}
	})
	t.Run("auto", func(t *testing.T) {
		backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "data: {\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"r\"}\n\ndata: {\"type\":\"RUN_FINISHED\",\"threadId\":\"t\",\"runId\":\"r\"}\n\n")
		}))
		defer backend.Close()
		for word, want := range map[string]bool{"ack": true, "": false} {
			list, asked := list(), new(atomic.Bool)
			list[len(list)-1].Options.(*martianOptions).asked = asked
			c, err := load([]string{"HOLDPOINT_UPSTREAM=" + backend.URL, "HOLDPOINT_MARTIAN_WORD=" + word}, list)
			if err != nil {
				t.Fatal(err)
			}
			h, err := newHandlerMaker(c, memory.New(memory.Options{}), slog.New(slog.DiscardHandler)).proxyFor(&c.agent)
			if err != nil {
				t.Fatal(err)
			}
			run := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(`{"threadId":"t","runId":"r","messages":[],"tools":[],"context":[]}`))
			h.ServeHTTP(httptest.NewRecorder(), run)
			if asked.Load() != want {
				t.Errorf("with %q auto asked it: %v", word, !want)
			}
		}
	})
}

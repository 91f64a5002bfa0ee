package variables_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"holdpoint/internal/variables"
)

type options struct {
	Name  string        `env:"NAME" doc:"a name"`
	Level string        `env:"LEVEL" envDefault:"low" values:"low|high" doc:"a level"`
	Wait  time.Duration `env:"WAIT" envDefault:"1h" doc:"a wait"`
	On    bool          `env:"ON" doc:"a switch"`
	other int
}

func TestRead(t *testing.T) {
	for name, c := range map[string]struct {
		set  map[string]string
		want options
		errs []string
	}{
		"nothing":            {nil, options{Level: "low", Wait: time.Hour}, nil},
		"everything":         {map[string]string{"X_NAME": "a", "X_LEVEL": "high", "X_WAIT": "90s", "X_ON": "1"}, options{"a", "high", 90 * time.Second, true, 0}, nil},
		"empty is unset":     {map[string]string{"X_LEVEL": "", "X_WAIT": ""}, options{Level: "low", Wait: time.Hour}, nil},
		"another's":          {map[string]string{"NAME": "a", "Y_NAME": "a"}, options{Level: "low", Wait: time.Hour}, nil},
		"a wrong one":        {map[string]string{"X_NAME": "a", "X_WAIT": "-1s"}, options{Name: "a", Level: "low", Wait: time.Hour}, []string{`X_WAIT "-1s": must not be negative, want a duration such as 15s, or 0`}},
		"several wrong ones": {map[string]string{"X_LEVEL": "huge", "X_ON": "maybe"}, options{Level: "low", Wait: time.Hour}, []string{`X_LEVEL "huge": want one of low, high`, `X_ON "maybe": want true or false`}},
	} {
		t.Run(name, func(t *testing.T) {
			var got options
			var said []string
			for _, err := range (variables.Group{Prefix: "X_", Options: &got}).Read(c.set) {
				said = append(said, err.Error())
			}
			if got != c.want || !slices.Equal(said, c.errs) {
				t.Errorf("%+v, %q", got, said)
			}
		})
	}
}

func TestVariables(t *testing.T) {
	g := variables.Group{Prefix: "X_", Options: &options{Name: "a", Level: "low", Wait: 90 * time.Minute}}
	var got []string
	for _, v := range g.Variables() {
		by := ""
		if v.IsDefault {
			by = " by default"
		}
		got = append(got, v.Name+"="+v.Value+by+" ("+v.Default+"): "+v.Doc)
	}
	want := []string{"X_NAME=a (): a name", "X_LEVEL=low by default (low): a level", "X_WAIT=1h30m (1h): a wait", "X_ON=false by default (): a switch"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestQuote(t *testing.T) {
	for value, want := range map[string]string{
		"a b": `"a b"`, "http://me:hush@x/a": `"http://xxxxx@x/a"`, "me:hush@x": `"xxxxx@x"`, "http://x/?key=hush": `"http://x/?xxxxx"`,
		strings.Repeat("é", 70): `"` + strings.Repeat("é", 60) + `…"`,
	} {
		if got := variables.Quote(value); got != want {
			t.Errorf("%s: %s", value, got)
		}
	}
}

type Embedded struct {
	Name string `env:"NAME" envDefault:"e" doc:"a name"`
}

// TestEmbedded: the fields of an embedded struct must be read and shown as other fields are.
func TestEmbedded(t *testing.T) {
	type outer struct {
		Embedded
		On bool `env:"ON" doc:"a switch"`
	}
	var got outer
	g := variables.Group{Prefix: "X_", Options: &got}
	if errs := g.Read(map[string]string{"X_NAME": "a", "X_ON": "1"}); errs != nil || got != (outer{Embedded{"a"}, true}) {
		t.Errorf("%+v, %v", got, errs)
	}
	list := g.Variables()
	if len(list) != 2 || list[0].Name != "X_NAME" || list[0].Value != "a" || list[0].IsDefault || list[1].Name != "X_ON" {
		t.Errorf("%+v", list)
	}
}

package dialects

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"holdpoint/translate"
	"holdpoint/translate/kit"
	"holdpoint/translate/standard"
)

// A careless has the options of a dialect whose author wrote the tags but no checks.
type careless struct {
	Cancel kit.JSON `env:"CANCEL" envDefault:"false" means:"no" doc:"JSON for a cancelled answer"`
	No     kit.Text `env:"NO" envDefault:"No." means:"no" doc:"words for a denied answer"`
	On     bool     `env:"ON" doc:"a switch"`
}

func newCareless(careless, translate.Warn) (*standard.Dialect, error) {
	return new(standard.Dialect), nil
}

// TestNoOptionOfANoTakesAYes checks every option whose value is sent for a cancelled or denied
// answer. Each must refuse a value that could be a yes, even if the dialect itself has no check.
func TestNoOptionOfANoTakesAYes(t *testing.T) {
	yes := []string{`true`, `1`, `"yes"`, `"Y"`, `" OK "`, `{"approved":true}`, `{"type":"approve"}`, `[{"type":"accept"}]`, `""`, `{}`}
	words := []string{"yes", "No, I mean yes", "OK", " ", "approved"}
	tried := map[string]int{}
	list := With(ready(t), "careless", newCareless)
	for _, e := range list {
		for f := range reflect.TypeOf(e.Options).Elem().Fields() {
			name, means := e.Prefix+f.Tag.Get("env"), f.Tag.Get("means")
			if means == "" || means == "nothing" || means == "yes" {
				continue
			}
			read := e.group().Read
			if f.Tag.Get("shared") == "cancel" {
				name, read = "HOLDPOINT_CANCEL", list.readShared
			}
			tried[means]++
			values := yes
			if f.Type == reflect.TypeFor[kit.Text]() {
				values = words
			}
			for _, value := range values {
				set := value
				if means == "answers" {
					set = filepath.Join(t.TempDir(), "rules.json")
					rules := `{"interrupts":[{"name":"*","answers":"docs-string","cancel":` + value + `}]}`
					if err := os.WriteFile(set, []byte(rules), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				errs := read(map[string]string{name: set})
				if errs = append(errs, e.check()...); len(errs) == 0 || !strings.HasPrefix(errs[0].Error(), name+" ") {
					t.Errorf("%s=%s: %v", name, value, errs)
				}
				if _, err := e.New(nil); err == nil && means != "answers" {
					t.Errorf("%s=%s is taken", name, value)
				}
			}
		}
	}
	if tried["no"] < 4 || tried["no or null"] == 0 || tried["answers"] == 0 {
		t.Errorf("tried %v", tried)
	}
}

// hints match the names and the descriptions of options whose values are sent for cancelled or
// denied answers.
var hints = regexp.MustCompile(`(?i)\bcancel|\bdenied|\bdeny|\breject|(^|_)NO$`)

// TestEveryOptionSaysWhatItMeans checks that a dialect cannot be made if one of its options lacks
// the tag `means`.
func TestEveryOptionSaysWhatItMeans(t *testing.T) {
	for _, e := range All() {
		if errs := e.checkMeanings(); len(errs) > 0 {
			t.Errorf("%s: %v", e.Name, errs)
		}
		for f := range reflect.TypeOf(e.Options).Elem().Fields() {
			name, means := f.Tag.Get("env"), f.Tag.Get("means")
			hinted := hints.MatchString(name) || hints.MatchString(f.Tag.Get("doc"))
			if hinted && (means == "nothing" || means == "yes") {
				t.Errorf("%s%s seems to be sent for a no, and says that it means %q", e.Prefix, name, means)
			}
		}
	}
	for name, list := range map[string]List{
		"a text": With(nil, "x", func(struct {
			Word string `env:"WORD" doc:"a word"`
		}, translate.Warn) (*standard.Dialect, error) {
			return nil, nil
		}),
		"JSON": With(nil, "x", func(struct {
			Word kit.JSON `env:"WORD" doc:"a word"`
		}, translate.Warn) (*standard.Dialect, error) {
			return nil, nil
		}),
		"a list": With(nil, "x", func(struct {
			Word []string `env:"WORD" doc:"words"`
		}, translate.Warn) (*standard.Dialect, error) {
			return nil, nil
		}),
		"unproven": With(nil, "x", func(struct {
			Word string `env:"WORD" means:"no" doc:"a word"`
		}, translate.Warn) (*standard.Dialect, error) {
			return nil, nil
		}),
		"unknown": With(nil, "x", func(struct {
			Word kit.JSON `env:"WORD" means:"maybe" doc:"a word"`
		}, translate.Warn) (*standard.Dialect, error) {
			return nil, nil
		}),
		"no rules": With(nil, "x", func(struct {
			Word json.RawMessage `env:"WORD" means:"answers" doc:"a word"`
		}, translate.Warn) (*standard.Dialect, error) {
			return nil, nil
		}),
	} {
		if _, err := list.New("x", nil); err == nil || !strings.Contains(err.Error(), "HOLDPOINT_X_WORD") || !strings.Contains(err.Error(), "tag means") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

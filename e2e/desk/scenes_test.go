//go:build e2e

package desk

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A scene names one scene: a function in a JavaScript file of the folder scenes.
type scene struct{ file, name string }

// policies has the policy file of each scene in which some people have fewer rights. In the other
// scenes everybody has all rights.
var policies = map[string]string{
	"rights": `access:
  - names: [maria.okafor]
    agents: ["*"]
    rights: [read]
  - names: [jonas.lind]
    agents: ["*"]
    rights: [list]
`,
	"a proxy that signs people in": `access:
  - names: [maria.okafor]
    agents: ["*"]
    rights: [decide]
`,
}

// environ returns the variables of the scene's Holdpoint, in addition to those that every Holdpoint
// here has.
func environ(t *testing.T, s scene) []string {
	t.Helper()
	// Every run names its user, and Holdpoint sends decisions of such runs only with headers of its
	// own.
	headers := filepath.Join(t.TempDir(), "headers")
	if err := os.WriteFile(headers, []byte("X-Requester: the desk\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{
		"HOLDPOINT_DESK_HEADERS_FILE=" + headers,
		"HOLDPOINT_PRINCIPAL_HEADER=X-Requester", "HOLDPOINT_TRUSTED_PEERS=127.0.0.0/8",
		"HOLDPOINT_PRINCIPAL_KEY=0123456789abcdef0123456789abcdef", "HOLDPOINT_SHOW_PRINCIPAL=name",
	}
	if policy := policies[s.name]; policy != "" {
		file := filepath.Join(t.TempDir(), "policy.yaml")
		if err := os.WriteFile(file, []byte(policy), 0o600); err != nil {
			t.Fatal(err)
		}
		env = append(env, "HOLDPOINT_POLICY="+file)
	}
	if s.name == "a proxy that signs people in" {
		env = append(env, "HOLDPOINT_DESK_AUTH=header", "HOLDPOINT_DESK_PRINCIPAL=X-Forwarded-Email", "HOLDPOINT_DESK_TOKEN_FILE=")
	}
	return env
}

// all lists the scenes that TestDesk plays.
var all = []scene{
	{"decide", "approve"},
	{"decide", "a desk of many agents"},
	{"decide", "deny with a comment"},
	{"decide", "deny by a click"},
	{"decide", "edit the arguments"},
	{"decide", "edit the arguments in the form of the yes"},
	{"decide", "answer a question"},
	{"decide", "undo"},
	{"decide", "how a decision is sent"},
	{"decide", "two questions of one pause"},
	{"decide", "earlier decisions"},
	{"decide", "a reason for the agent"},
	{"race", "keys that do not decide"},
	{"race", "a key that is held"},
	{"race", "folded and grave"},
	{"race", "two browsers at one question"},
	{"race", "a conflict inside the undo time"},
	{"race", "a tab that is closed"},
	{"race", "an answer that does not fit"},
	{"race", "a question that has changed"},
	{"race", "signed out"},
	{"race", "somebody else in the same browser"},
	{"race", "a proxy that signs people in"},
	{"interrupt", "what interrupt() asks"},
	{"interrupt", "a call that the agent names"},
	{"interrupt", "what other frameworks send"},
	{"interrupt", "a second click"},
	{"hostile", "marks of one field"},
	{"hostile", "right to left"},
	{"hostile", "markup"},
	{"hostile", "a button drawn in text"},
	{"hostile", "hidden characters"},
	{"hostile", "numbers and keys"},
	{"hostile", "100 KB"},
	{"languages", "a pseudo-language"},
	{"languages", "answers in a pseudo-language"},
	{"languages", "in German"},
	{"languages", "choosing a language"},
	{"frame", "policy"},
	{"frame", "forced colours"},
	{"frame", "motion"},
	{"frame", "rows that stay"},
	{"frame", "a wrong clock"},
	{"frame", "a thousand"},
	{"frame", "fifty by keyboard"},
	{"states", "wide light"},
	{"states", "wide dark"},
	{"states", "phone light"},
	{"states", "phone dark"},
	{"states", "zoomed light"},
	{"states", "zoomed dark"},
	{"states", "states and words"},
	{"states", "rights"},
}

// TestDesk plays the scenes, each with its own Holdpoint. The clock of the page goes on even while
// a slow machine does something else, so a timeout on the page may come too early. So a scene that
// fails is played once more from its beginning. The test prints that, because such a scene should
// be mended.
func TestDesk(t *testing.T) {
	tools, err := setUp()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(tools.dir) })
	d := startDriver(t, tools.chromium)
	list := all
	if os.Getenv("E2E_DESK_SHOTS") != "" {
		list = append(list, scene{"gallery", "gallery"})
	}
	for _, one := range list {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			start := newStage
			switch one.name {
			case "a desk of many agents":
				start = newStageApart
			case "a pseudo-language", "answers in a pseudo-language":
				start = newPseudoStage
			}
			complaint := d.play(t, one.file, one.name, start(t, tools.binary, environ(t, one)...))
			if complaint == "" {
				return
			}
			fmt.Printf("e2e/desk: %q once more: %s\n", one.name, complaint)
			if complaint = d.play(t, one.file, one.name, start(t, tools.binary, environ(t, one)...)); complaint != "" {
				t.Error(complaint)
			}
		})
	}
}

// TestPictures: the folder docs/desk must contain exactly the pictures that docs/desk-page.md
// shows. The test does not compare what the pictures show, because each machine draws letters
// differently. With the flag -update, the test writes the pictures anew.
func TestPictures(t *testing.T) {
	text, err := os.ReadFile("../../docs/desk-page.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(pictures)
	if err != nil || len(files) == 0 {
		t.Fatal(len(files), err)
	}
	for _, f := range files {
		picture, err := os.ReadFile(filepath.Join(pictures, f.Name()))
		if err != nil || !bytes.HasPrefix(picture, []byte("\x89PNG\r\n")) || len(picture) > 150<<10 {
			t.Errorf("%s: %d bytes, want a PNG of at most 150 KiB: %v", f.Name(), len(picture), err)
		}
		if !strings.Contains(string(text), "](desk/"+f.Name()+")") {
			t.Errorf("docs/desk-page.md does not show %s", f.Name())
		}
	}
	if shown := strings.Count(string(text), "](desk/"); shown != len(files) {
		t.Errorf("docs/desk-page.md shows %d pictures, and there are %d", shown, len(files))
	}
}

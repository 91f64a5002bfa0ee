//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A composeImage describes the container of a Dockerfile's last stage: its folder, environment and
// command. The test starts the command on this machine instead, without a container.
type composeImage struct {
	folder  string // set by WORKDIR
	env     []string
	command []string
}

// A composeStage is one stage of a Dockerfile: a root folder with the files that the Dockerfile
// copies there. It does not have the files of the base image.
type composeStage struct{ root, workdir string }

// at returns where a path of the stage is on this machine.
func (s composeStage) at(path string) string {
	if !strings.HasPrefix(path, "/") {
		path = s.workdir + "/" + path
	}
	return filepath.Join(s.root, filepath.FromSlash(path))
}

// composeBuild carries out the lines of a Dockerfile on this machine: it copies files and runs
// commands. If a command is a key of the map instead, composeBuild calls that key's function and
// does not run the command. It knows the instructions that deploy/compose uses, and fails at any
// other.
func composeBuild(t *testing.T, context, dockerfile string, instead map[string]func(dir string) error) *composeImage {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(context, dockerfile))
	if err != nil {
		t.Fatal(err)
	}
	image, stages := &composeImage{}, map[string]composeStage{}
	var now composeStage
	for line := range strings.Lines(string(text)) {
		word, args, _ := strings.Cut(strings.TrimSpace(line), " ")
		err := error(nil)
		switch word {
		case "", "#", "ARG", "EXPOSE", "USER":
		case "FROM":
			now = composeStage{root: t.TempDir()}
			image.env = nil
			if _, name, ok := strings.Cut(args, " AS "); ok {
				stages[name] = now
			}
		case "WORKDIR":
			for name, s := range stages {
				if s == now {
					stages[name] = composeStage{now.root, args}
				}
			}
			now.workdir = args
			err = os.MkdirAll(now.at("."), 0o755)
		case "ENV":
			image.env = append(image.env, strings.Fields(args)...)
		case "COPY":
			err = composeCopy(now, context, stages, strings.Fields(args))
		case "RUN":
			if other := instead[args]; other != nil {
				err = other(now.at("."))
				break
			}
			cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", args)
			cmd.Dir = now.at(".")
			if out, failed := cmd.CombinedOutput(); failed != nil {
				err = fmt.Errorf("%w\n%s", failed, out)
			}
		case "CMD":
			err = json.Unmarshal([]byte(args), &image.command)
		default:
			err = fmt.Errorf("this test knows no %s", word)
		}
		if err != nil {
			t.Fatalf("%s: %s: %v", dockerfile, strings.TrimSpace(line), err)
		}
	}
	if len(image.command) == 0 {
		t.Fatalf("%s has no command", dockerfile)
	}
	image.folder = now.at(".")
	return image
}

// composeCopy carries out a COPY, with the stage to as its target. The files come from the build
// context or from another stage.
func composeCopy(to composeStage, context string, stages map[string]composeStage, args []string) error {
	from := func(path string) string { return filepath.Join(context, path) }
	if name, ok := strings.CutPrefix(args[0], "--from="); ok {
		stage, ok := stages[name]
		if !ok {
			return fmt.Errorf("there is no stage %s", name)
		}
		from, args = stage.at, args[1:]
	}
	target := to.at(args[len(args)-1])
	for _, path := range args[:len(args)-1] {
		about, err := os.Stat(from(path))
		if err != nil {
			return err
		}
		if about.IsDir() {
			if err := os.CopyFS(target, os.DirFS(from(path))); err != nil {
				return err
			}
			continue
		}
		b, err := os.ReadFile(from(path))
		if err == nil {
			err = os.WriteFile(filepath.Join(target, filepath.Base(path)), b, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

//go:build deploy

package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"holdpoint/internal/test/pages"
)

// stands are scripts, because this test has no cluster and no Docker. Each script takes the place
// of one program that docs/operations.md uses. If a command sends objects to a cluster, its script
// gives them to kubeconform. It also notes the names of the Deployments that were sent, and a later
// command may name only these.
var stands = map[string]string{
	// "go" builds the binary from the root of the repository. At the path where the page expects
	// the binary, it puts a script. If the page starts that script without arguments, the binary
	// runs until it logs "listening".
	"go": `test "$1 $2" = "build -o"
		"$GO" -C "$ROOT" build -o "$PWD/real" "$4"
		mkdir -p "$(dirname "$3")"
		cat > "$3" <<-'END'
			#!/bin/sh
			if test $# -gt 0; then exec "$WORK/real" "$@"; fi
			"$WORK/real" 2> "$WORK/log" & pid=$!
			until grep -q '"listening"' "$WORK/log"; do
				kill -0 $pid || { cat "$WORK/log" >&2; exit 1; }
				sleep 0.02
			done
			kill $pid
			wait $pid
		END
		chmod +x "$3"`,
	"make": `"$MAKE" -n -C "$ROOT" "$@" | grep -q "docker build -t holdpoint:1 "`,
	"docker": `case "$1" in
		tag) test "$2" = holdpoint:1; echo "$3" > "$WORK/tagged" ;;
		push) grep -qx "$2" "$WORK/tagged" ;;
		run) shift
			while test $# -gt 1; do
				case "$1" in
				-e) export "$2"; shift 2 ;;
				-p|-v|--cap-drop|--security-opt|--stop-timeout) shift 2 ;;
				--read-only) shift ;;
				*) echo "docker run: what is $1?" >&2; exit 1 ;;
				esac
			done
			test "$1" = holdpoint:1
			"$WORK/real" check ;;
		compose) test "$2 $4 $5" = "-f up --build"; "$COMPOSE" "$3" ;;
		*) exit 1 ;;
		esac`,
	"sent": `cat > "$WORK/sent.yaml"
		"$KUBECONFORM" -strict -kubernetes-version 1.37.0 \
			-schema-location "$ROOT/deploy/schemas/{{.NormalizedKubernetesVersion}}/{{.ResourceKind}}{{.KindSuffix}}.json" \
			-schema-location "$ROOT/deploy/schemas/custom/{{.ResourceKind}}{{.KindSuffix}}.json" "$WORK/sent.yaml"
		if test "$1" != as-is; then grep -q "image: \"\?registry.example.com/holdpoint:$1" "$WORK/sent.yaml"; fi
		awk '/^kind: Deployment/ {d = 1} d && /^  name:/ {print "deployment/" $2; d = 0}' "$WORK/sent.yaml" >> "$WORK/names"`,
	"kubectl": `if test "$1" = -n; then shift 2; fi
		case "$1 $2" in
		"label namespace") ;;
		"create secret") test "$3 $5 $6" = "tls --cert=tls.crt --key=tls.key" ;;
		"apply -f") test "$3" = -; sent 1 ;;
		"apply -k") "$KUSTOMIZE" build "$3" > "$WORK/built"; sent as-is < "$WORK/built" ;;
		"kustomize "*) exec "$KUSTOMIZE" build "$2" ;;
		"rollout status"|"set image") grep -qx "$3" "$WORK/names" ;;
		"exec "*) grep -qx "$2" "$WORK/names"
			test "$3 $4 $5 $6" = "-c holdpoint -- /holdpoint"
			"$WORK/real" "$7" 2>&1 | grep -q "HOLDPOINT_ADMIN_LISTEN is off" ;; # it is, here: it knows the command
		*) exit 1 ;;
		esac`,
	// An upgrade also uses the values that the page gave to the installation.
	"helm": `verb=$1 name=$2 chart=$3; shift 3
		case "$verb" in
		install) printf '%s\n' "$@" > "$WORK/values-$name"
			case "$*" in *image.tag=*) tag=1 ;; *) tag=as-is ;; esac ;;
		upgrade) test "$1" = --reset-then-reuse-values; shift
			"$HELM" upgrade --help | grep -q -- --reset-then-reuse-values
			set -- $(cat "$WORK/values-$name") "$@"; tag=2 ;;
		*) exit 1 ;;
		esac
		"$HELM" template "$name" "$chart" "$@" > "$WORK/built"
		sent $tag < "$WORK/built"`,
}

// TestCommandsOfPages runs the commands of docs/operations.md for an installation and an upgrade,
// and those of other pages. The commands must succeed, the files that they name must exist, and the
// objects that they make must be valid.
func TestCommandsOfPages(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	bin := filepath.Join(work, "stands")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range stands {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\nset -eu\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(root, "deploy"), filepath.Join(work, "deploy")); err != nil {
		t.Fatal(err)
	}
	environ := append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "ROOT="+root, "WORK="+work, "HOME="+work, "KUBECONFIG="+filepath.Join(work, "none"),
		"HOLDPOINT_LISTEN=127.0.0.1:0", "HOLDPOINT_ADMIN_LISTEN=off", "HOLDPOINT_DRAIN_DELAY=0")
	for _, name := range []string{"go", "make"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		environ = append(environ, strings.ToUpper(name)+"="+path)
	}
	// Go derives these from HOME, which is changed above.
	for _, tool := range []string{"GOCACHE", "GOPATH"} {
		out, err := exec.Command("go", "env", tool).Output()
		if err != nil {
			t.Fatal(err)
		}
		environ = append(environ, tool+"="+strings.TrimSpace(string(out)))
	}
	ran := 0
	run := func(block string) {
		t.Helper()
		ran++
		cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", strings.ReplaceAll(block, "/var/lib/holdpoint/", filepath.ToSlash(work)+"/"))
		cmd.Dir, cmd.Env = work, environ
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s\n%s", err, block, out)
		}
	}
	for _, document := range []string{"../docs/operations.md", "../docs/kubernetes.md", "../docs/injector.md", "../docs/oauth2-proxy.md", "../docs/limits.md", "compose/README.md"} {
		page, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range pages.Blocks(string(page)) {
			switch {
			case b.Runs != "deploy: TestCommandsOfPages":
			case strings.HasPrefix(b.Text, "initContainers:"):
				run("sent as-is <<'END'\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: part}\nspec:\n  selector: {}\n  template:\n    spec:\n" + indented(b.Text, "      ") + "END\n")
			case strings.HasPrefix(b.Text, "healthcheck:"):
				run("cat > part.yaml <<'END'\nservices:\n  holdpoint:\n    image: holdpoint:1\n" + indented(b.Text, "    ") + "END\n\"$COMPOSE\" part.yaml\n")
			case b.Language == "yaml":
				run("sent as-is <<'END'\n" + b.Text + "END\n")
			default:
				run(b.Text)
			}
		}
	}
	if ran < 20 {
		t.Errorf("%d blocks of commands ran", ran)
	}
}

// indented returns the text with the prefix by before each line.
func indented(text, by string) string {
	return by + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+by) + "\n"
}

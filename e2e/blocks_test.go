//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"holdpoint/internal/test/pages"
)

// typed lists the pages of docs with blocks of TypeScript. packages is the folder with the npm
// packages that the blocks use. around is the code of an application into which each block is put.
// wrong is a block that must not compile with these packages.
var typed = []struct{ page, packages, around, wrong string }{
	{"browser.md", "tanstack", "%s\nexport { connection };\n", `import { fetchServerSentEvents } from "@tanstack/ai-react";
const connection = fetchServerSentEvents({ at: 1 });`},
	{"copilotkit.md", "copilotkit", `import type { ReactElement } from "react";
import { useInterrupt } from "@copilotkit/react-core/v2";
declare function Ask(p: { key?: string; text?: string; onAnswer: (text: string) => void }): ReactElement;
export function Asking() {
  useInterrupt({
%s  });
}
`, "render: ({ questions }) => questions\n"},
}

// TestBlocksOfPages: the TypeScript blocks of the pages must compile with the packages in the
// versions that the other tests use.
func TestBlocksOfPages(t *testing.T) {
	t.Parallel()
	compiler, err := filepath.Abs("langgraph-server/node_modules/typescript/bin/tsc")
	if err != nil {
		t.Fatal(err)
	}
	if err := installPackages("langgraph-server"); err != nil {
		t.Fatal(err)
	}
	for _, of := range typed {
		t.Run(of.page, func(t *testing.T) {
			t.Parallel()
			if err := installPackages(of.packages); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(filepath.Join("..", "docs", of.page))
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			modules, _ := filepath.Abs(filepath.Join(of.packages, "node_modules"))
			if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
				t.Fatal(err)
			}
			args := []string{compiler, "--noEmit", "--strict", "--noImplicitAny", "false", "--skipLibCheck", "--target", "es2022", "--module", "esnext", "--moduleResolution", "bundler", "--lib", "es2022,dom", "--jsx", "react-jsx"}
			for _, b := range pages.Blocks(string(text)) {
				if b.Runs != "e2e: TestBlocksOfPages" {
					continue
				}
				file := filepath.Join(dir, fmt.Sprintf("line-%d.tsx", b.Line))
				if err := os.WriteFile(file, []byte(strings.Replace(of.around, "%s", b.Text, 1)), 0o644); err != nil {
					t.Fatal(err)
				}
				args = append(args, file)
			}
			// The block wrong must not compile. If it did, TypeScript would not have read the types
			// of the packages.
			if err := os.WriteFile(filepath.Join(dir, "wrong.tsx"), []byte(strings.Replace(of.around, "%s", of.wrong, 1)), 0o644); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), "node", append(args, filepath.Join(dir, "wrong.tsx"))...)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "wrong.tsx(") {
				t.Errorf("the compiler takes anything: %v\n%s", err, out)
			}
			for line := range strings.Lines(string(out)) {
				if !strings.HasPrefix(line, "wrong.tsx(") && !strings.HasPrefix(line, " ") {
					t.Error(line)
				}
			}
		})
	}
}

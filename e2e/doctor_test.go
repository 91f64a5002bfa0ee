//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"testing"
)

// TestDoctorAsksRealBackends: `holdpoint doctor` sends one request to a real server. The server
// must accept it, and doctor must report correctly on the response.
func TestDoctorAsksRealBackends(t *testing.T) {
	t.Parallel()
	graphs, agno := need(t, "langgraph", newestLangGraph).base()+"/default", need(t, "agno", "3.1.10").base()+"/default/agui"
	for _, tt := range []struct {
		name, message, address      string
		code                        int
		verdict, dialect, framework string
		questions                   int
	}{
		{"LangGraph asks", "go", graphs + "/approve", 0, "keeps", "langgraph", "LangGraph", 1},
		{"LangGraph answers", "plain", graphs + "/approve", 0, "plain", "", "LangGraph", 0},
		{"agno asks", "delete a.txt", agno, 0, "keeps", "agno", "agno", 1},
		{"no such graph", "go", graphs + "/none", 2, "no-stream", "", "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			out, err := exec.CommandContext(ctx, shared.binary, "doctor", "-json", "-message", tt.message, tt.address).Output()
			code := 0
			if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
				code = exit.ExitCode()
			} else if err != nil {
				t.Fatal(err)
			}
			var report struct {
				Verdict, Dialect string
				Framework        struct{ Name string }
				Questions        []any
			}
			if err := json.Unmarshal(out, &report); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if code != tt.code || report.Verdict != tt.verdict || report.Dialect != tt.dialect ||
				report.Framework.Name != tt.framework || len(report.Questions) != tt.questions {
				t.Errorf("exit %d\n%s", code, out)
			}
		})
	}
}

//go:build e2e

package chaos

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// clockVariable names the variable that sets the clock of the test build. Its value is
// SECONDS@AFTER,...: from AFTER seconds after the start on, the clock is SECONDS ahead. libfaketime
// cannot do this, because the Go binary is static.
const clockVariable = "CHAOS_CLOCK"

// clockSource is a source file that is added to package time. It leaves the monotonic clock alone,
// as if somebody had set the machine's clock.
const clockSource = `package time

import "syscall"

type chaosJump struct{ after, seconds int64 }

var chaosJumps = func() (list []chaosJump) {
	text, _ := syscall.Getenv("` + clockVariable + `")
	var fields [2]string
	at := 0
	end := func() {
		seconds, err1 := atoi(fields[0])
		after, err2 := atoi(fields[1])
		if text != "" && (err1 != nil || err2 != nil) {
			panic("time: bad ` + clockVariable + `")
		}
		if text != "" {
			list = append(list, chaosJump{int64(after) * 1e9, int64(seconds)})
		}
		fields, at = [2]string{}, 0
	}
	for _, c := range text {
		switch c {
		case '@':
			at = 1
		case ',':
			end()
		default:
			fields[at] += string(c)
		}
	}
	end()
	return list
}()

func chaosNow() (sec int64, nsec int32, mono int64) {
	sec, nsec, mono = runtimeNow()
	var ahead int64
	for _, j := range chaosJumps {
		if mono-startNano >= j.after {
			ahead = j.seconds
		}
	}
	return sec + ahead, nsec, mono
}
`

// buildWithClock builds Holdpoint with a package time that reads clockVariable, and returns the
// path of the binary. Apart from that it is the ordinary binary.
func buildWithClock(t *testing.T, dir string) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(strings.TrimSpace(string(out)), "src", "time")
	source, err := os.ReadFile(filepath.Join(folder, "time.go"))
	if err != nil {
		t.Fatal(err)
	}
	const call = "\tsec, nsec, mono := runtimeNow()\n"
	if strings.Count(string(source), call) != 1 {
		t.Fatal("time.Now of this Go is another one: look at clockSource")
	}
	replaced := map[string]string{}
	for name, text := range map[string]string{
		"time.go": strings.Replace(string(source), call, "\tsec, nsec, mono := chaosNow()\n", 1), "chaos.go": clockSource,
	} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		replaced[filepath.Join(folder, name)] = file
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	file, binary := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "holdpoint")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-overlay", file, "-o", binary, "holdpoint/cmd/holdpoint").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// TestClockOfTheTestBuild: the times in the log of the test build must follow clockVariable.
func TestClockOfTheTestBuild(t *testing.T) {
	binary := buildWithClock(t, t.TempDir())
	for _, hours := range []int{0, 2, -3} {
		cmd := exec.Command(binary)
		cmd.Env = []string{fmt.Sprintf("%s=0@0,%d@0", clockVariable, hours*3600), "HOLDPOINT_LISTEN=192.0.2.1:7080", "HOLDPOINT_ADMIN_LISTEN=off", "HOLDPOINT_UPSTREAM=http://127.0.0.1:1", "HOLDPOINT_LOG_FORMAT=json"}
		out, _ := cmd.CombinedOutput() // it fails, because no machine has that address
		line, _, _ := strings.Cut(string(out), "\n")
		var entry struct{ Time time.Time }
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if got := time.Until(entry.Time).Round(time.Hour); got != time.Duration(hours)*time.Hour {
			t.Errorf("the clock is %v ahead, want %d hours", got, hours)
		}
	}
}

package servers_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdpoint/internal/test/servers"
)

// TestServersEndWithAKilledTest: if a test process is killed, the servers that it started must end,
// even a server that is frozen.
func TestServersEndWithAKilledTest(t *testing.T) {
	const started = "TEST_SERVERS_STARTED"
	if os.Getenv(started) != "" { // this is the process that will be killed
		frozen, bouncer := servers.StartRedis(t, servers.RedisOptions{}), servers.StartPgBouncer(t, servers.StartPostgres(t, servers.PostgresOptions{}))
		frozen.Freeze()
		fmt.Println("\nstarted", bouncer.Addr())
		select {}
	}
	t.Parallel()
	servers.Need(t, servers.RedisServer, servers.PostgreSQL, servers.PgBouncer)
	short, err := os.MkdirTemp("", "hp")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(short)
	if err := os.Chmod(short, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), started+"=yes", "TMPDIR="+short)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := false
	for lines := bufio.NewScanner(out); !said && lines.Scan(); {
		said = strings.HasPrefix(lines.Text(), "started")
	}
	before := below(t, short)
	cmd.Process.Kill()
	cmd.Wait()
	if !said || len(before) < 4 {
		t.Fatalf("it did not start its servers: %q", before)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		left := below(t, short)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("these are left: %q", left)
		}
	}
}

// below returns the /proc folders of the processes whose working folder is below dir.
func below(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	cwds, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range cwds {
		if at, err := os.Readlink(link); err == nil && strings.HasPrefix(at, dir+"/") {
			found = append(found, filepath.Dir(link))
		}
	}
	return found
}

package redis

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestStartUnderFIPS: a process that allows only the algorithms of FIPS 140-3 must start. Redis
// names scripts by SHA-1, which is not one of these algorithms.
func TestStartUnderFIPS(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GODEBUG=") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "GODEBUG=fips140=only")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

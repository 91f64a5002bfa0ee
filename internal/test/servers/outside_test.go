//go:build unix

package servers

import (
	"errors"
	"strings"
	"testing"
)

// TestOutside: Outside runs a function, do. If do fails, Outside must return the failure as an
// error, and must run all cleanups.
func TestOutside(t *testing.T) {
	t.Parallel()
	other := errors.New("other")
	var order []string
	for _, c := range []struct {
		name string
		do   func(t testing.TB) error
		want string
		is   error
	}{
		{"well", func(testing.TB) error { return nil }, "", nil},
		{"its own error", func(testing.TB) error { return other }, "other", other},
		{"fatal", func(t testing.TB) error { t.Fatalf("no %s", "disk"); return other }, "no disk", nil},
		{"missing", func(t testing.TB) error { t.Skipf("no %s", "server"); return other }, "no server", ErrMissing},
	} {
		err := Outside(func(t testing.TB) error {
			t.Cleanup(func() { order = append(order, "first") })
			t.Cleanup(func() { order = append(order, "second"); t.Helper(); runtimeEnd(t, c.name == "fatal") })
			return c.do(t)
		})
		switch {
		case c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		case c.is != nil && !errors.Is(err, c.is):
			t.Errorf("%s: %v is no %v", c.name, err, c.is)
		case c.is != other && errors.Is(err, other):
			t.Errorf("%s: it went on", c.name)
		}
		if got := strings.Join(order, " "); got != "second first" {
			t.Errorf("%s: cleaned up %q", c.name, got)
		}
		order = nil
	}
}

// runtimeEnd ends the current cleanup with t.Fatal if the parameter end is true.
func runtimeEnd(t testing.TB, end bool) {
	if end {
		t.Fatal("in a cleanup")
	}
}

// TestOutsideEndsServers: Outside runs a function, do, which starts a server. When do returns, the
// server must end.
func TestOutsideEndsServers(t *testing.T) {
	t.Parallel()
	Need(t, RedisServer)
	var r *Redis
	if err := Outside(func(t testing.TB) error {
		r = StartRedis(t, RedisOptions{})
		r.Do("SET", "k", "v")
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if r.running() {
		t.Error("it runs on")
	}
}

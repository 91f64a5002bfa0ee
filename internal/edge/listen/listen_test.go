package listen

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for text, wrong := range map[string]string{
		":7080":                               "",
		"127.0.0.1:0":                         "",
		"[::1]:7080":                          "",
		"unix:///run/holdpoint/run.sock":      "",
		"unix:///run/run.sock?mode=0660":      "",
		"7080":                                "such as :7080",
		"localhost":                           "want host:port",
		":http":                               `port "http" is out of range`,
		":65536":                              "out of range",
		"unix://run.sock":                     "three slashes",
		"unix:run.sock":                       "three slashes",
		"unix:///run/":                        "three slashes",
		"unix:///run/run.sock?mode=rw":        "nothing but a mode",
		"unix:///run/run.sock?mode=7777":      "nothing but a mode",
		"unix:///run/run.sock?owner=1":        "nothing but a mode",
		"unix:///" + strings.Repeat("a", 99):  "",
		"unix:///" + strings.Repeat("a", 103): "at most 103 bytes",
	} {
		_, err := Parse(text)
		if wrong == "" && err != nil || wrong != "" && (err == nil || !strings.Contains(err.Error(), wrong)) {
			t.Errorf("%s: %v, want %q", text, err, wrong)
		}
	}
}

func TestOverlaps(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{":7080", "127.0.0.1:7081", false},
		{":7081", "127.0.0.1:7081", true},
		{"127.0.0.1:7081", "[::]:7081", true},
		{"localhost:7081", "127.0.0.1:7081", true},
		{"10.0.0.1:7081", "127.0.0.1:7081", false},
		{"127.0.0.1:0", "127.0.0.1:0", false},
		{"unix:///a", "unix:///a?mode=0600", true},
		{"unix:///a", "unix:///b", false},
		{"unix:///a", ":7080", false},
	} {
		a, err := Parse(tt.a)
		if err != nil {
			t.Fatal(err)
		}
		b, err := Parse(tt.b)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Overlaps(b); got != tt.want || b.Overlaps(a) != got {
			t.Errorf("%s and %s: %v, want %v, both ways", tt.a, tt.b, got, tt.want)
		}
	}
}

// TestSocketThatIsThere: the file of a socket already exists. If the process that created it is
// dead, the file must be removed. If a process still listens there, or if the file is not a socket,
// the file must stay.
func TestSocketThatIsThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	at, err := Parse("unix://" + filepath.ToSlash(path) + "?mode=0600")
	if err != nil {
		t.Fatal(err)
	}
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false) // leaves the file, as a killed process does
	if _, err := at.Listen(); err == nil || !strings.Contains(err.Error(), "another process listens there") {
		t.Errorf("while somebody listens: %v", err)
	}
	left.Close()
	l, err := at.Listen()
	if err != nil {
		t.Fatalf("where a socket was left: %v", err)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if conn, err := at.Dial(t.Context()); err != nil {
		t.Error(err)
	} else {
		conn.Close()
	}
	if got := at.Describe(l); got != "unix://"+filepath.ToSlash(path) {
		t.Errorf("shown as %s", got)
	}
	l.Close()
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if l, err := at.Listen(); err == nil {
		l.Close()
		t.Error("a file was taken for a socket")
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "x" {
		t.Errorf("the file is gone: %v", err)
	}
}

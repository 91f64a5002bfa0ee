package main

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
)

// A build identifies the binary, for `holdpoint version` and /buildinfo.
type build struct {
	Version  string `json:"version"` // "(devel)" if it is not a release
	VCS      string `json:"vcs,omitempty"`
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"` // when the revision was committed, RFC 3339
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

// version is the name of the release, such as v0.1.0. The linker sets it (-X main.version), because
// Go cannot always derive it from git: a source archive has no repository, and a clone may have no
// tags.
var version string

func readBuild() build {
	b := build{Version: cmp.Or(version, "(devel)"), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Version = cmp.Or(version, info.Main.Version, b.Version)
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs":
			b.VCS = s.Value
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// printVersion prints the output of `holdpoint version`.
func printVersion(w io.Writer) {
	b := readBuild()
	stamp := "no VCS stamp"
	if b.Revision != "" {
		stamp = b.VCS + " " + b.Revision + " of " + b.Time
		if b.Modified {
			stamp += ", modified"
		}
	}
	fmt.Fprintf(w, "holdpoint %s (%s) %s %s/%s\n", b.Version, stamp, b.Go, b.OS, b.Arch)
}

//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package main

import "os"

// terminalWidth reports whether f is a terminal, as far as the mode of the file shows this. The
// number of columns is always 0, which means unknown.
func terminalWidth(f *os.File) (columns int, is bool) {
	info, err := f.Stat()
	return 0, err == nil && info.Mode()&os.ModeCharDevice != 0 && f.Name() != os.DevNull
}

//go:build !poison

package poison

// On reports whether Bytes does anything in this build.
const On = false

// Bytes overwrites b in builds with the tag poison.
func Bytes([]byte) {}

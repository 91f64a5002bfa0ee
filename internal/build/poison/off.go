//go:build !poison

package poison

// On reports whether Bytes has an effect in this build.
const On = false

// Bytes overwrites b in builds with the tag poison, and does nothing in this build.
func Bytes([]byte) {}

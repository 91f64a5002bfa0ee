//go:build poison

package poison

// On reports whether Bytes does anything in this build.
const On = true

// fill does not occur in JSON, in UTF-8 or in a frame.
const fill = 0xFF

// Bytes overwrites b.
func Bytes(b []byte) {
	for i := range b {
		b[i] = fill
	}
}

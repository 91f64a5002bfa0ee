//go:build poison

package poison

// On reports whether Bytes has an effect in this build.
const On = true

// fill is a byte that does not occur in JSON, in UTF-8 or in a frame.
const fill = 0xFF

// Bytes overwrites every byte of b with fill.
func Bytes(b []byte) {
	for i := range b {
		b[i] = fill
	}
}

//go:build poison

package poison

// On reports whether Bytes does anything.
const On = true

// fill is in no JSON text, in no UTF-8 and in no frame.
const fill = 0xFF

// Bytes overwrites b.
func Bytes(b []byte) {
	for i := range b {
		b[i] = fill
	}
}

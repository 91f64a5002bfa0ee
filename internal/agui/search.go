package agui

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// The searches below look for one byte of the text that they search for, and skip the bytes before
// it. This is fast if the byte is rare, as a colon is in the text of a message. If less than
// wideGap bytes are between two such bytes, a search looks for a pair of bytes in the next
// blockSize bytes instead. A skipped byte takes a quarter of the time that a byte of this second
// search takes. But each byte that is found takes as long as 100 others.
const (
	wideGap   = 128
	blockSize = 512
	wordsSize = 32 // nextPair reads 32 bytes at once
)

// Index returns the position of the first text in b, or -1. The byte text[rare] must be rare in
// events, and must rarely precede the byte text[rare+1]. Index is faster than bytes.Index here,
// because bytes.Index stops at each byte that equals text[0], and compares byte by byte if such
// bytes are many.
func Index(b []byte, text string, rare int) int {
	at := func(i int) bool {
		return i >= rare && len(b)-i >= len(text)-rare && string(b[i-rare:i-rare+len(text)]) == text
	}
	for i := 0; ; {
		gap := bytes.IndexByte(b[i:], text[rare])
		if gap < 0 {
			return -1
		}
		i += gap
		if end := min(i+blockSize, len(b)-wordsSize); gap < wideGap && i < end {
			var marks uint32
			for i, marks = nextPair(b, i, end, text[rare], text[rare+1]); marks != 0; i, marks = nextPair(b, i+wordsSize, end, text[rare], text[rare+1]) {
				for ; marks != 0; marks &= marks - 1 {
					if found := i + bits.TrailingZeros32(marks); at(found) {
						return found - rare
					}
				}
			}
			continue
		}
		if at(i) {
			return i - rare
		}
		i++
	}
}

// eachNull calls yield with the position of each colon that is followed by null, until yield
// returns false. The colon may be inside a string. The null may be the begin of a longer word.
func eachNull(b []byte, yield func(colon int) bool) {
	for i := 0; ; {
		gap := bytes.IndexByte(b[i:], ':')
		if gap < 0 {
			return
		}
		i += gap
		colon := i
		if end := min(i+blockSize, len(b)-wordsSize); gap < wideGap && i < end {
			var marks uint32
			for i, marks = nextPair(b, i, end, 'n', 'u'); marks != 0; i, marks = nextPair(b, i+wordsSize, end, 'n', 'u') {
				for ; marks != 0; marks &= marks - 1 {
					null := i + bits.TrailingZeros32(marks)
					if !nullAt(b, null) {
						continue
					}
					if colon := spaceBegin(b, null) - 1; b[colon] == ':' && !yield(colon) {
						return
					}
				}
			}
			// The null after the last colon of the block may begin behind the block.
			if colon = spaceBegin(b, i) - 1; b[colon] != ':' {
				continue
			}
		}
		i = spaceEnd(b, colon+1)
		if nullAt(b, i) && !yield(colon) {
			return
		}
	}
}

// nextPair finds pairs of bytes: the byte first, directly followed by the byte second. It examines
// wordsSize bytes at a time, from the position i on. It returns the first position at of such a
// step that contains the first byte of a pair. In marks, bit n is 1 if a pair begins at b[at+n]. A
// bit above a correct bit may also be 1, without a pair. If there is no pair before end, nextPair
// returns a position at or after end, and marks is 0. b must have more than wordsSize bytes after
// each position before end.
func nextPair(b []byte, i, end int, first, second byte) (at int, marks uint32) {
	const (
		ones = 0x0101010101010101
		high = 0x80 * ones
	)
	f, s := uint64(first)*ones, uint64(second)*ones
	for ; i < end; i += wordsSize {
		p := b[i : i+wordsSize+1]
		// In each of these words, a byte is 0 if a pair begins there.
		v := (word(p) ^ f) | (word(p[1:]) ^ s)
		w := (word(p[8:]) ^ f) | (word(p[9:]) ^ s)
		x := (word(p[16:]) ^ f) | (word(p[17:]) ^ s)
		y := (word(p[24:]) ^ f) | (word(p[25:]) ^ s)
		// Now the high bit of such a byte is 1.
		v, w, x, y = (v-ones)&^v&high, (w-ones)&^w&high, (x-ones)&^x&high, (y-ones)&^y&high
		if v|w|x|y != 0 {
			return i, highBits(v) | highBits(w)<<8 | highBits(x)<<16 | highBits(y)<<24
		}
	}
	return i, 0
}

func word(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// highBits returns the high bit of each of the eight bytes of x. They are the lowest eight bits of
// the result, and its other bits are 0.
func highBits(x uint64) uint32 { return uint32(x >> 7 * 0x0102040810204080 >> 56) }

// nullAt reports whether the text null is in b at position i.
func nullAt(b []byte, i int) bool { return len(b)-i >= 4 && string(b[i:i+4]) == "null" }

// keyBefore returns the key that precedes the colon at this position, without its quotes. It
// returns nil if no key precedes it, or if the key is longer than the parameter most. If the key
// contains an escaped quote, keyBefore returns only the part after that quote.
func keyBefore(b []byte, colon, most int) []byte {
	end := spaceBegin(b, colon) - 1
	if end < 0 || b[end] != '"' {
		return nil
	}
	for i := end - 1; i >= 0 && end-i <= most+1; i-- {
		if b[i] == '"' {
			return b[i+1 : end]
		}
	}
	return nil
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// spaceEnd returns the position after the white space that begins at i.
func spaceEnd(b []byte, i int) int {
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	return i
}

// spaceBegin returns the position at which the white space that ends before i begins.
func spaceBegin(b []byte, i int) int {
	for i > 0 && isSpace(b[i-1]) {
		i--
	}
	return i
}

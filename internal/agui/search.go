package agui

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// The searches below skip from one byte of what they look for to the next, if it is rare, as a
// colon is in the text of a message. Where that byte follows less than wideGap bytes after another,
// they look for a pair of bytes in the next blockSize bytes. A skipped byte takes a quarter of the
// time, but each byte that is found takes as long as 100 others.
const (
	wideGap   = 128
	blockSize = 512
	wordsSize = 32 // nextPair reads 32 bytes at once
)

// Index returns the position of the first text in b, or -1. text[rare] is a byte that is rare in
// events, and rarely stands before text[rare+1]. bytes.Index stops at each byte that equals the
// first one, and compares byte by byte if those are many.
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

// eachNull calls yield with the position of each colon that a null follows, until it returns false.
// The colon may be in a string, and the null may be the beginning of another word.
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
			// The null of the last colon may begin after the block.
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

// nextPair returns the first position from i on, in steps of wordsSize, at which one of the next
// wordsSize bytes is first, and second follows. Their bits are 1 in marks. A bit above one of those
// may also be 1. If no position before end has any, it returns one at or after end, and 0. b has
// more than wordsSize bytes after each position before end.
func nextPair(b []byte, i, end int, first, second byte) (at int, marks uint32) {
	const (
		ones = 0x0101010101010101
		high = 0x80 * ones
	)
	f, s := uint64(first)*ones, uint64(second)*ones
	for ; i < end; i += wordsSize {
		p := b[i : i+wordsSize+1]
		// A byte of these is 0 where the pair is.
		v := (word(p) ^ f) | (word(p[1:]) ^ s)
		w := (word(p[8:]) ^ f) | (word(p[9:]) ^ s)
		x := (word(p[16:]) ^ f) | (word(p[17:]) ^ s)
		y := (word(p[24:]) ^ f) | (word(p[25:]) ^ s)
		// The high bit of such a byte is 1 in these.
		v, w, x, y = (v-ones)&^v&high, (w-ones)&^w&high, (x-ones)&^x&high, (y-ones)&^y&high
		if v|w|x|y != 0 {
			return i, highBits(v) | highBits(w)<<8 | highBits(x)<<16 | highBits(y)<<24
		}
	}
	return i, 0
}

func word(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// highBits returns the high bits of the eight bytes of x as its lowest bits. Its other bits are 0.
func highBits(x uint64) uint32 { return uint32(x >> 7 * 0x0102040810204080 >> 56) }

// nullAt reports whether b has null at i.
func nullAt(b []byte, i int) bool { return len(b)-i >= 4 && string(b[i:i+4]) == "null" }

// keyBefore returns the text of the key before a colon, without its quotes. It returns nil if the
// key is missing, or longer than most. If the key has an escaped quote, it returns only the text
// after that.
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

// spaceBegin returns the position at which the white space before i begins.
func spaceBegin(b []byte, i int) int {
	for i > 0 && isSpace(b[i-1]) {
		i--
	}
	return i
}

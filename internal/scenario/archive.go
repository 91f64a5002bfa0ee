package scenario

import (
	"fmt"
	"slices"
	"strings"
)

// An Archive is a text that consists of a comment and of named parts in an order. The comment and
// the data of a part may contain any bytes.
type Archive struct {
	Comment string
	Parts   []Part
}

// A Part is one named part of an Archive. Its name is one line that neither begins nor ends with a
// space.
type Part struct {
	Name string
	Data string
}

const (
	headBegins = "-- "
	headEnds   = " --\n"
	escape     = `\`
)

// ParseArchive parses an archive. It returns an error for a text that String would write
// differently. So if a program changes one part and saves the file, the other parts keep their
// bytes.
//
// A line "-- NAME --" begins a part. If a line of the data begins with "-- " or with a backslash,
// the file has one more backslash before it. If the data do not end with a line break, the part has
// the additional line "\ no newline at the end". Otherwise the format is that of
// golang.org/x/tools/txtar.
func ParseArchive(text string) (*Archive, error) {
	a := &Archive{}
	name, line := "", 1
	for first := true; first || text != ""; first = false {
		if !first {
			head, rest, ends := strings.Cut(text, "\n")
			named := false
			name, named = strings.CutSuffix(head[len(headBegins):]+"\n", headEnds)
			if text = rest; !ends || !named || name == "" || strings.TrimSpace(name) != name {
				return nil, fmt.Errorf(textEscape, line, "-- NAME --", head, escape)
			}
			line++
		}
		block := text
		if end := nextHead(text); end >= 0 {
			block = text[:end]
		}
		text = text[len(block):]
		data, err := unescaped(block)
		if err != nil {
			return nil, fmt.Errorf("line %d, %q: %w", line, name, err)
		}
		if line += strings.Count(block, "\n"); first {
			a.Comment = data
			continue
		}
		if _, twice := a.Part(name); twice {
			return nil, fmt.Errorf(textPartTwice, line, name)
		}
		a.Parts = append(a.Parts, Part{name, data})
	}
	return a, nil
}

// nextHead returns the position of the next line that begins a part, or -1.
func nextHead(text string) int {
	if strings.HasPrefix(text, headBegins) {
		return 0
	}
	if at := strings.Index(text, "\n"+headBegins); at >= 0 {
		return at + 1
	}
	return -1
}

// unescaped returns the data that a block of lines stands for. Most blocks contain no escapes, and
// unescaped returns them without a copy.
func unescaped(block string) (string, error) {
	if block != "" && !strings.HasSuffix(block, "\n") {
		return "", fmt.Errorf(textLastLine, strings.TrimSpace(unended))
	}
	body, cut := strings.CutSuffix(block, unended)
	if cut = cut && (body == "" || strings.HasSuffix(body, "\n")); !cut {
		body = block
	} else if body = strings.TrimSuffix(body, "\n"); body == "" || strings.HasSuffix(body, "\n") {
		return "", fmt.Errorf(textFollowsNoLine, strings.TrimSpace(unended))
	}
	if !strings.HasPrefix(body, escape) && !strings.Contains(body, "\n"+escape) {
		return body, nil
	}
	var b strings.Builder
	for line := range strings.SplitAfterSeq(body, "\n") {
		rest, escaped := strings.CutPrefix(line, escape)
		if escaped && !mustEscape(rest) {
			return "", fmt.Errorf(textEscapedInVain, line, escape)
		}
		b.WriteString(rest)
	}
	return b.String(), nil
}

func mustEscape(line string) bool {
	return strings.HasPrefix(line, headBegins) || strings.HasPrefix(line, escape)
}

// String returns the archive as the text of a file.
func (a *Archive) String() string {
	var b strings.Builder
	writeBlock(&b, a.Comment)
	for _, p := range a.Parts {
		b.WriteString(headBegins + p.Name + headEnds)
		writeBlock(&b, p.Data)
	}
	return b.String()
}

func writeBlock(b *strings.Builder, data string) {
	if !mustEscape(data) && !strings.Contains(data, "\n"+headBegins) && !strings.Contains(data, "\n"+escape) {
		b.WriteString(data)
	} else {
		for line := range strings.SplitAfterSeq(data, "\n") {
			if mustEscape(line) {
				b.WriteString(escape)
			}
			b.WriteString(line)
		}
	}
	if data != "" && !strings.HasSuffix(data, "\n") {
		b.WriteString("\n" + unended)
	}
}

// Part returns the data of the part with that name. ok is false if the archive has no such part.
func (a *Archive) Part(name string) (data string, ok bool) {
	at := slices.IndexFunc(a.Parts, func(p Part) bool { return p.Name == name })
	if at < 0 {
		return "", false
	}
	return a.Parts[at].Data, true
}

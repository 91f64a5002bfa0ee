package fields

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"holdpoint/internal/agui"
)

const (
	maxLineText = 80       // longest text, in characters, that is shown on one line
	judgedBytes = 16 << 10 // number of bytes at the beginning of a text that decide its kind
)

// kindOf guesses how a text is best shown. If the guess is wrong, the text is still shown
// completely.
func kindOf(key, text string) Kind {
	begins := head(text, judgedBytes)
	lines := strings.ContainsAny(begins, "\n\r")
	switch {
	case !lines && len(text) <= judgedBytes && utf8.RuneCountInString(text) <= maxLineText:
		return String
	case lines && isDiff(begins):
		return Diff
	case isCode(key, begins, len(begins) == len(text)):
		return Code
	case lines || strings.ContainsAny(begins, " \t"):
		return Prose
	}
	return String
}

// isDiff reports whether a text is a unified diff: it has a line with the name of a file, or the
// first line of a hunk.
func isDiff(text string) bool {
	old, changed := false, false
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "diff --git "):
			return true
		case strings.HasPrefix(line, "@@ -"):
			if changed || strings.Contains(line[4:], " @@") {
				return true
			}
		case strings.HasPrefix(line, "--- "):
			old = true
		case strings.HasPrefix(line, "+++ "):
			changed = old
		}
	}
	return false
}

// codeKeys are words in keys. If a key has such a word, its text is taken for a program.
var codeKeys = words("code", "script", "sql", "query", "statement", "command", "cmd", "source", "program", "snippet")

// statements has the first words of SQL statements, and clauses has the words one of which must
// follow.
var (
	statements = words("select", "insert", "update", "delete", "drop", "alter", "create", "truncate", "grant", "revoke", "with", "merge")
	clauses    = words("from", "into", "set", "table", "where", "values", "database", "index", "view", "as", "on", "using", "schema", "role", "user")
)

// isCode reports whether a text is a program, JSON, markup or an SQL statement. whole says that the
// text is complete.
func isCode(key, text string, whole bool) bool {
	for word := range Words(key) {
		if codeKeys[word] {
			return true
		}
	}
	trimmed := strings.TrimSpace(text)
	switch {
	case strings.HasPrefix(trimmed, "#!"), strings.HasPrefix(trimmed, "<?"):
		return true
	case strings.HasPrefix(trimmed, "{"), strings.HasPrefix(trimmed, "["):
		if whole && agui.ValidText(trimmed) {
			return true
		}
	case strings.HasPrefix(trimmed, "<"):
		return strings.HasSuffix(trimmed, ">") || !whole
	}
	return isSQL(trimmed) || hasCodeLines(trimmed)
}

func isSQL(text string) bool {
	for strings.HasPrefix(text, "--") {
		_, text, _ = strings.Cut(text, "\n")
		text = strings.TrimSpace(text)
	}
	begin, clause := false, false
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) && r != '_' }) {
		lower := strings.ToLower(word)
		if !begin {
			// In an English sentence such a word is in lower case, or only its first letter is a
			// capital.
			if begin = statements[lower] && (word == strings.ToUpper(word) || strings.ContainsAny(text, ";=*(")); !begin {
				return false
			}
			continue
		}
		clause = clause || clauses[lower]
	}
	return clause
}

// codeStarts has beginnings of lines in programs. A sentence does not begin like this.
var codeStarts = []string{
	"def ", "class ", "import ", "from ", "func ", "package ", "const ", "let ", "var ", "function ", "return ", "if (", "for (",
	"while (", "#include", "public ", "private ", "elif ", "else:", "try:", "export ", "$ ", "sudo ", "curl ", "async ", "await ", "//", "@",
}

// hasCodeLines reports whether at least half of the lines, and at least two lines, look like lines
// of a program.
func hasCodeLines(text string) bool {
	code, all := 0, 0
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		bare := strings.TrimLeft(line, " \t")
		if bare == "" {
			continue
		}
		all++
		is := line != bare && (line[0] == '\t' || strings.HasPrefix(line, "  "))
		switch bare[len(bare)-1] {
		case ';', '{', '}', ')', '(':
			is = true
		}
		for _, start := range codeStarts {
			is = is || strings.HasPrefix(bare, start)
		}
		if is {
			code++
		}
	}
	return code >= 2 && code*2 >= all
}

func words(list ...string) map[string]bool {
	set := make(map[string]bool, len(list))
	for _, w := range list {
		set[w] = true
	}
	return set
}

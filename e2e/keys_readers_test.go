//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"holdpoint/internal/agui"
)

// A keyReader gives JSON texts to real parsers, and counts the keys that each parser finds. The
// channel receives one map for each text, in their order. A map has the counts by the name of the
// parser. The count -1 means that the parser rejects the text. The channel is closed after the last
// text, or earlier if a parser fails.
type keyReader func(texts [][]byte) <-chan map[string]int

// keyProgram starts a program that reads a text in hexadecimal digits from each line, and writes a
// line of counts for it. The program gets all texts at the start, so neither side waits for each
// line.
func keyProgram(t *testing.T, name string, args ...string) keyReader {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
	})
	return func(texts [][]byte) <-chan map[string]int {
		go func() {
			all := bufio.NewWriter(in)
			for _, text := range texts {
				fmt.Fprintln(all, hex.EncodeToString(text))
			}
			_ = all.Flush() // on an error the program writes too few counts
		}()
		counts := make(chan map[string]int, len(texts))
		go func() {
			defer close(counts)
			lines := bufio.NewReader(out)
			for range texts {
				line, err := lines.ReadBytes('\n')
				var of map[string]int
				if err != nil || json.Unmarshal(line, &of) != nil {
					return
				}
				counts <- of
			}
		}()
		return counts
	}
}

// jackson returns a keyReader that uses the parser Jackson in Java. Maven installs Jackson into
// .cache.
func jackson(t *testing.T) keyReader {
	t.Helper()
	for _, tool := range []string{"java", "mvn"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatal("missing on this machine: java >= 17 and mvn (Maven)")
		}
	}
	pom, err := os.ReadFile(filepath.Join("verdict-java", "pom.xml"))
	if err != nil {
		t.Fatal(err)
	}
	unlock, err := lockCache()
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	cache, err := filepath.Abs(".cache")
	if err != nil {
		t.Fatal(err)
	}
	jars := filepath.Join(cache, "jars-"+digest(pom))
	complete := filepath.Join(jars, "complete")
	if _, err := os.Stat(complete); err != nil {
		if err := insist("mvn", "-B", "-q", "-f", filepath.Join("verdict-java", "pom.xml"), "-Dmaven.repo.local="+filepath.Join(cache, "maven"),
			"dependency:copy-dependencies", "-DoutputDirectory="+jars); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(complete, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return keyProgram(t, "java", "-cp", filepath.Join(jars, "*"), filepath.Join("verdict-java", "OfKeys.java"))
}

// goKeys is a keyReader that uses Go's encoding/json.
func goKeys(texts [][]byte) <-chan map[string]int {
	var count func(value any) int
	count = func(value any) (n int) {
		switch v := value.(type) {
		case map[string]any:
			n = len(v)
			for _, inner := range v {
				n += count(inner)
			}
		case []any:
			for _, inner := range v {
				n += count(inner)
			}
		}
		return n
	}
	counts := make(chan map[string]int, len(texts))
	defer close(counts)
	for _, text := range texts {
		var value any
		n := -1
		if json.Unmarshal(text, &value) == nil {
			n = count(value)
		}
		counts <- map[string]int{"Go": n}
	}
	return counts
}

// keyParts are pieces from which the test makes keys. There are letters, the same letters as
// escapes, in the other case and in overlong encodings, and characters that only some parsers tell
// apart.
var keyParts = []string{
	"r", `\u0072`, `\u0052`, "R", "o", `\u006f`, `\u006F`, "_", `\u005f`, "l", "e", "\u017f", `\u017f`, "s", "S", `\u0073`, "K", "\u212a", "k",
	"é", `\u00e9`, `\u00E9`, `e\u0301`, `É`, "😀", `\ud83d\ude00`, `\ud83d`, `\ude00`, `\uD83D`, "\ufffd", `\ufffd`, `\u0000`, `\/`, "/", `\u002f`,
	"\xc1\xb2", "\xe0\x81\xb2", "\xed\xa0\xbd", "\xff", "İ", "ı", "i", "I", "ß", "ss", "ſs", "\ufeff", `\ufeff`, `\n`, `\u000a`, "\u200b", "Σ", "σ", "ς",
}

// madeUpKeys returns a random JSON object, and the number of its keys, where a repeated key counts
// each time.
func madeUpKeys(r *rand.Rand, depth int) (text string, n int) {
	var list []string
	before := []string{"role"}
	for range r.IntN(5) {
		key := pick(r, before)
		if r.IntN(3) > 0 {
			key = ""
			for range 1 + r.IntN(3) {
				key += pick(r, keyParts)
			}
		}
		before = append(before, key)
		value := pick(r, []string{"1", `"x"`, "null", "[]"})
		if depth < 3 && r.IntN(3) == 0 {
			inner, more := madeUpKeys(r, depth+1)
			value, n = inner, n+more
			if r.IntN(2) == 0 {
				value = "[0," + inner + "]"
			}
		}
		list, n = append(list, `"`+key+`":`+value), n+1
	}
	return "{" + strings.Join(list, ",") + "}", n
}

// caseBlind counts the keys in which .NET's System.Text.Json ignores the case of letters: it does
// so with PropertyNameCaseInsensitive, which ASP.NET sets. Keys that differ only in case count
// once. No .NET is installed here, so the function follows the documentation. If a key has half of
// a surrogate pair, the text is an error.
func caseBlind(text []byte) int {
	d := json.NewDecoder(bytes.NewReader(text))
	var count func() int
	count = func() (n int) {
		token, err := d.Token()
		if err != nil {
			return 0
		}
		switch token {
		case json.Delim('{'):
			seen := map[string]bool{}
			for d.More() {
				key, _ := d.Token()
				seen[strings.Map(unicode.ToUpper, fmt.Sprint(key))] = true
				n += count()
			}
			n += len(seen)
			d.Token()
		case json.Delim('['):
			for d.More() {
				n += count()
			}
			d.Token()
		}
		return n
	}
	return count()
}

// TestReadersOfKeysAgree: if some parser reads two keys as the same, Holdpoint's check must report
// a repeated key, or the text must be invalid UTF-8, which Holdpoint refuses too. And if the check
// reports a repeated key, some parser must read the two keys as the same.
func TestReadersOfKeysAgree(t *testing.T) {
	t.Parallel()
	python := stack{"langgraph", "0.0.43"}
	found, err := requireTools()
	if err != nil {
		t.Fatal(err)
	}
	unlock, err := lockCache()
	if err != nil {
		t.Fatal(err)
	}
	at, err := environment(found, python)
	unlock()
	if err != nil {
		t.Fatal(err)
	}
	readers := []keyReader{
		goKeys, keyProgram(t, at, filepath.Join("verdict", "of_keys.py")), keyProgram(t, "node", filepath.Join("verdict-js", "of_keys.mjs")), jackson(t),
	}
	r := seeded(t)
	const texts = 4000
	made, keys := make([][]byte, texts), make([]int, texts)
	for at := range made {
		text, n := madeUpKeys(r, 0)
		made[at], keys[at] = []byte(text), n
	}
	var answers []<-chan map[string]int
	for _, reads := range readers {
		answers = append(answers, reads(made))
	}
	merged, taken, flagged := map[string]int{}, map[string]int{}, 0
	for at, text := range made {
		n := keys[at]
		twice := agui.CheckKeys(text, agui.KeysOfData) != nil
		alike := agui.CheckKeys(text, agui.KeysOfAnswer) != nil
		refused := twice || !utf8.Valid(text)
		somebody := false
		for reader, counts := range answers {
			of, ok := <-counts
			if !ok {
				t.Fatalf("reader %d says nothing of text %d, %q", reader, at, text)
			}
			for name, count := range of {
				if count < 0 {
					continue
				}
				taken[name]++
				if count < n {
					merged[name]++
					somebody = true
					if !refused {
						t.Errorf("%s finds %d of %d keys, and the check finds none twice: %q", name, count, n, text)
					}
				}
			}
		}
		if twice {
			flagged++
			if !somebody {
				t.Errorf("the check finds a key twice, and no parser does: %q", text)
			}
		}
		if blind := caseBlind(text); blind < n && !alike && utf8.Valid(text) {
			t.Errorf("System.Text.Json finds %d of %d keys, and the check finds none alike: %q", blind, n, text)
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d texts, %d with a key twice; by parser, taken %v, with fewer keys than there are %v", texts, flagged, taken, merged)
	for _, name := range []string{"Go", "json", "orjson", "jiter", "JSON.parse", "Jackson", "Jackson's Map"} {
		if taken[name] < texts/4 || merged[name] < texts/20 {
			t.Errorf("%s takes %d texts and merges keys in %d: the texts no longer say much", name, taken[name], merged[name])
		}
	}
}

//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// The functions below write bodies in formats and charsets other than plain JSON, which lenient
// servers accept too.

// fields returns the JSON object in text as the fields of a form. The names of nested fields are
// those that the libraries qs and append-field read.
func fields(text string) []field {
	var object map[string]any
	if json.Unmarshal([]byte(text), &object) != nil {
		return nil
	}
	var list []field
	var add func(name string, value any)
	add = func(name string, value any) {
		switch v := value.(type) {
		case map[string]any:
			for key, inner := range v {
				add(name+"["+key+"]", inner)
			}
		case []any:
			for n, inner := range v {
				add(fmt.Sprintf("%s[%d]", name, n), inner)
			}
		default:
			list = append(list, field{name, fmt.Sprint(v)})
		}
	}
	for key, value := range object {
		add(key, value)
	}
	slices.SortFunc(list, func(a, b field) int { return strings.Compare(a.key, b.key) })
	return list
}

func urlencoded(text string) []byte {
	var pairs []string
	for _, f := range fields(text) {
		pairs = append(pairs, url.QueryEscape(f.key)+"="+url.QueryEscape(f.value))
	}
	return []byte(strings.Join(pairs, "&"))
}

func bareForm(text string) []byte {
	var pairs []string
	for _, f := range fields(text) {
		pairs = append(pairs, f.key+"="+url.QueryEscape(f.value))
	}
	return []byte(strings.Join(pairs, "&"))
}

// everyByte writes the fields as an urlencoded form, in which every byte of the names is escaped.
func everyByte(text string) []byte {
	var pairs []string
	for _, f := range fields(text) {
		name := ""
		for _, b := range []byte(f.key) {
			name += fmt.Sprintf("%%%02x", b)
		}
		pairs = append(pairs, name+"="+url.QueryEscape(f.value))
	}
	return []byte(strings.Join(pairs, "&"))
}

// inParts returns a function that writes the fields as a multipart body. header is the header of
// each part, in which %s stands for the field's name.
func inParts(header string) func(string) []byte {
	return func(text string) []byte {
		var b strings.Builder
		for _, f := range fields(text) {
			fmt.Fprintf(&b, "--x\r\n"+header+"\r\n\r\n%s\r\n", f.key, f.value)
		}
		return []byte(b.String() + "--x--\r\n")
	}
}

// behindUpload writes a multipart body with a large file and then the fields.
func behindUpload(text string) []byte {
	file := "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.bin\"\r\nContent-Type: application/octet-stream\r\n\r\n" + strings.Repeat("\x00-Content-", 9_000) + "\r\n"
	return append([]byte(file), inParts(`Content-Disposition: form-data; name="%s"`)(text)...)
}

// utf7Keys returns a function that writes these keys of a JSON text in UTF-7, whose bytes are all
// ASCII.
func utf7Keys(keys ...string) func(string) []byte {
	return func(text string) []byte {
		for _, key := range keys {
			text = strings.ReplaceAll(text, `"`+key+`"`, `"`+utf7(key)+`"`)
		}
		return []byte(text)
	}
}

func utf7(key string) string {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	out, bits, n := "+", 0, 0
	for _, b := range utf16Bytes(key, true, false) {
		bits, n = bits<<8|int(b), n+8
		for ; n >= 6; n -= 6 {
			out += string(digits[bits>>(n-6)&63])
		}
	}
	if n > 0 {
		out += string(digits[bits<<(6-n)&63])
	}
	return out + "-"
}

const (
	jsonType = "Content-Type: application/json"
	formType = "Content-Type: application/x-www-form-urlencoded"
	partType = "Content-Type: multipart/form-data; boundary=x"
)

// formats are the formats of a body other than plain JSON. types has the Content-Type headers at
// which a server may read a body in that format.
var formats = []struct {
	name   string
	encode func(text string) []byte
	types  []string
}{
	{"urlencoded", urlencoded, []string{formType, formType + "; charset=utf-8", formType + ";charset=iso-8859-1", "Content-Type: APPLICATION/X-WWW-FORM-URLENCODED"}},
	{"urlencoded, bare brackets", bareForm, []string{formType}},
	{"urlencoded, every byte", everyByte, []string{formType, formType + "; charset=iso-8859-1"}},
	{"several parts", inParts(`Content-Disposition: form-data; name="%s"`), []string{partType, partType + "; charset=utf-8", `Content-Type: Multipart/Form-Data; boundary="x"`}},
	{"several parts, no quotes", inParts(`content-disposition:form-data;name=%s`), []string{partType}},
	{"several parts, folded", inParts("Content-Disposition: form-data;\r\n\tNAME=\"%s\""), []string{partType}},
	{"several parts, extended", inParts(`Content-Disposition: form-data; name*=utf-8''%s`), []string{partType}},
	{"several parts, behind a file", behindUpload, []string{partType}},
	{"UTF-7 in the answers", utf7Keys("resume", "forwardedProps"), charsets},
	{"UTF-7 in the thread", utf7Keys("threadId", "messages"), charsets},
	{"UTF-7 throughout", func(text string) []byte { return []byte("+AHs-" + text[1:]) }, charsets},
	{"nothing special", func(text string) []byte { return []byte(text) }, charsets},
}

// charsets are Content-Type headers that name a charset, or that only seem to.
var charsets = []string{
	jsonType + "; charset=utf-7", jsonType + "; charset=utf-8; charset=utf-7", jsonType + "; charset=utf-7; charset=utf-8", jsonType + "; charset=utf-7;a=1;a=2",
	jsonType + "; charset*=utf-8''utf-8; charset=utf-7", jsonType + "; charset=utf-7; x", jsonType + `; charset="utf-7"`, jsonType + `; charset="utf\-7"`, jsonType + `; x="; charset=utf-7`,
	jsonType + `; x="\"; charset=utf-7`, jsonType + "; CharSet = UTF-7", jsonType + ";;charset=utf-7", jsonType + "; charset=utf-7,", jsonType + "\t;\tcharset=utf-7", jsonType + "; charset=unicode-1-1-utf-7",
	jsonType + "; charset=utf-16", jsonType + "; charset=latin1", jsonType + "; charset=utf8", jsonType + "; charset=", jsonType + "; charset", jsonType + "; charset*0=utf-7",
	"Content-Type: text/plain; charset=utf-7", "Content-Type: text/plain; charset=utf-8; charset=utf-7", "Content-Type: text/plain;charset=utf-7; charset=utf-8", "Content-Type: text/html; charset=utf-7;",
	jsonType + "\r\n" + jsonType + "; charset=utf-7", jsonType + "; charset=utf-7\r\n" + jsonType, "Content-Type: text/plain; charset=utf-16le", "Content-Type: text/plain; charset=iso-8859-1",
}

// withFormat writes the attempt in formats[n], with the header contentType.
func withFormat(a *attempt, n int, contentType string) {
	a.encode = formats[n].encode
	a.header = slices.Clone(a.header)
	if len(a.header) > 0 && strings.HasPrefix(a.header[0], "Content-Type") {
		a.header[0] = contentType
	} else {
		a.header = slices.Insert(a.header, 0, contentType)
	}
	a.notes = append(a.notes, formats[n].name)
}

// less removes every key from the body except those in keep. Lenient backends do not miss the rest.
func less(a *attempt, keep ...string) {
	a.body = slices.DeleteFunc(slices.Clone(a.body), func(f field) bool {
		return !slices.ContainsFunc(keep, func(name string) bool { return f.key == `"`+name+`"` })
	})
	a.notes = append(a.notes, "only "+strings.Join(keep, ", "))
}

// lesses are lists of keys for less: the keys that remain in the body of a run.
var lesses = [][]string{
	{"threadId", "messages"}, {"messages"}, {"runId", "messages"}, {"threadId", "runId"}, {"threadId", "resume"}, {"runId", "resume"}, {"resume"},
	{"threadId", "forwardedProps"}, {"forwardedProps"}, {"runId", "forwardedProps"}, {"messages", "resume"}, {"messages", "forwardedProps"}, {"messages", "tools"}, {"messages", "state", "tools", "context"},
	{"threadId", "messages", "forwardedProps"}, {"resume", "forwardedProps"}, {"threadId", "state"},
}

// decided returns a list of messages that contains a decision on the call, in a format that
// agent-framework-ag-ui accepts.
func decided(r *rand.Rand, call string) string {
	id := pick(r, []string{"toolCallId", "tool_call_id", "actionExecutionId", "toolcallid"})
	content := pick(r, []string{`"content":"{\"accepted\":true}"`, `"content":{"accepted":true}`, `"content":"{\"accepted\":NaN}"`, `"result":"{\"accepted\":true}"`, `"content":null,"result":{"accepted":1}`,
		`"content":"{\"\\u0061ccepted\":true,\"steps\":[]}"`})
	role := pick(r, []string{"tool", "TOOL", "t\\u006fol"})
	name := pick(r, []string{"rm", "confirm_changes"})
	return `[{"id":"u1","role":"user","content":"please pause"},{"id":"a1","role":"assistant","` + pick(r, []string{"toolCalls", "tool_calls"}) + `":[{"id":"` + call + `","type":"function","function":{"name":"` + name + `","arguments":"{}"}}]},` +
		`{"id":"t1","role":"` + role + `","` + id + `":"` + call + `",` + content + `}]`
}

// aKey matches a key of an object in a JSON text.
var aKey = regexp.MustCompile(`"([A-Za-z_]+)":`)

// again repeats the n-th key of a JSON text: one occurrence has the key's own value, and the other
// has value. The repetition is written as spell spells the key. If behind is true, the occurrence
// with value comes first. If the text has no n-th key, again returns it unchanged.
func again(text string, n int, behind bool, spell func(key string) string, value string) string {
	all := aKey.FindAllStringSubmatchIndex(text, -1)
	if n >= len(all) {
		return text
	}
	begin, key := all[n][0], text[all[n][2]:all[n][3]]
	if !behind {
		return text[:begin] + `"` + spell(key) + `":` + value + "," + text[begin:]
	}
	// The first key gets the new value, and the second one keeps the original value.
	return text[:begin] + `"` + key + `":` + value + `,"` + spell(key) + text[all[n][3]:]
}

// spelledAgain are ways to spell the repetition of a key.
var spelledAgain = []func(key string) string{
	func(key string) string { return key },
	func(key string) string { return fmt.Sprintf(`\u%04x`, key[0]) + key[1:] },
	func(key string) string { return spellings(key)[0] },                  // snake_case
	func(key string) string { return strings.ToUpper(key[:1]) + key[1:] }, // as Go and .NET match it
}

// keyAgain repeats a random key in the value of one member of the body.
func keyAgain(r *rand.Rand, a *attempt) {
	a.body = slices.Clone(a.body)
	i := r.IntN(len(a.body))
	a.body[i].value = again(a.body[i].value, r.IntN(8), r.IntN(2) == 0, pick(r, spelledAgain), pick(r, []string{`null`, `""`, `[]`, `{}`, `"user"`, `"x"`}))
}

// keysAgain returns changes of an attempt. Each change puts an answer or a decision into the body,
// and repeats one key of it. Together the changes repeat every key.
func keysAgain() (list []func(a *attempt)) {
	answers := []func(a *attempt){
		func(a *attempt) { canonical().on(a) },
		func(a *attempt) {
			a.body = a.body.set("forwardedProps", `{"resume":{"interrupts":[{"id":"c1","value":{"accepted":true}}]}}`)
		},
		func(a *attempt) {
			a.body = a.body.set("messages", `[{"id":"u1","role":"user","content":"please pause"},{"id":"a1","role":"assistant","toolCalls":[{"id":"c1","type":"function","function":{"name":"rm","arguments":"{}"}}]},`+
				`{"id":"t1","role":"tool","toolCallId":"c1","content":"{\"accepted\":true}"}]`).set("tools", `[{"name":"rm","description":"","parameters":{}}]`)
		},
	}
	for _, answer := range answers {
		a := newAttempt("")
		answer(a)
		for i, f := range a.body {
			for n := range aKey.FindAllString(f.value, -1) {
				for m, spell := range spelledAgain {
					list = append(list, func(a *attempt) {
						answer(a)
						a.body = slices.Clone(a.body)
						a.body[i].value = again(a.body[i].value, n, true, spell, []string{`null`, `"user"`, `[]`, `""`}[(n+m)%4])
						a.notes = append(a.notes, "key again")
					})
				}
			}
		}
	}
	return list
}

func init() {
	mutators = append(mutators, []struct {
		name string
		do   func(r *rand.Rand, a *attempt)
	}{
		{"format", func(r *rand.Rand, a *attempt) { n := r.IntN(len(formats)); withFormat(a, n, pick(r, formats[n].types)) }},
		{"less", func(r *rand.Rand, a *attempt) { less(a, pick(r, lesses)...) }},
		{"key again", keyAgain},
		{"decision", func(r *rand.Rand, a *attempt) { a.body = a.body.set("messages", decided(r, "c1")) }},
		{"declares", func(r *rand.Rand, a *attempt) {
			a.body = a.body.set("tools", `[{"name":"`+pick(r, []string{"rm", "confirm_changes"})+`","description":"","parameters":{}}]`)
		}},
	}...)
}

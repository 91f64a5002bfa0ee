package transcript

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

const (
	// patchEffort is the number of bytes that may be processed for each byte of the state and its
	// patches. More than one is needed, because a patch of a few bytes can change a value deep in
	// the state, or copy a large part of it.
	patchEffort = 32
	patchLeast  = 1 << 20
)

// applyPatches returns the state after the patches (RFC 6902) were applied one after another. The
// function patches calls show with each patch. bytes is the size of all patches. The result has at
// most max bytes. applyPatches returns an error if a patch does not apply, or if the work exceeds
// the limit for these sizes.
//
// It behaves like fast-json-patch 3.1.1 with validation, which the official client uses
// (src/core.ts). If the behaviour of that library is odd, as with the index "01", applyPatches
// returns an error, so that the state counts as unknown. All patches of a stream are applied to one
// parsed document. A test compares the result with evanphx/json-patch. That library is not used
// here, because it reads and writes the whole state for each patch, copies a list for each inserted
// value, and searches an object for each removed value.
func applyPatches(state json.RawMessage, bytes, max int, patches func(show func(patch string))) (json.RawMessage, error) {
	d := document{effort: byteBudget(patchEffort*(len(state)+bytes) + patchLeast), max: max}
	d.root.raw = strings.TrimSpace(agui.View(state).Raw)
	d.root.raw = cmp.Or(d.root.raw, "{}")
	var err error
	patches(func(patch string) {
		if err == nil {
			err = d.apply(patch)
		}
	})
	if err != nil {
		return nil, err
	}
	text, err := d.root.appendTo(nil, max)
	if err != nil {
		return nil, err
	}
	if agui.TooDeep(text) {
		return nil, errTooMuch
	}
	return agui.AppendCompact(text[:0], text), nil
}

// A document is a state that is being patched.
type document struct {
	root   value
	effort byteBudget
	max    int
}

// An operation is one operation of a patch. Each value is JSON text, or "" if it is missing.
type operation struct{ op, path, from, value string }

func (d *document) apply(patch string) error {
	ops := gjson.Parse(patch)
	if !ops.IsArray() {
		return errNoPatch
	}
	var err error
	ops.ForEach(func(_, one gjson.Result) bool {
		var op operation
		if op, err = readOperation(one.Raw); err == nil {
			err = d.do(op)
		}
		return err == nil
	})
	return err
}

// readOperation reads one operation. If a member occurs twice, the last one counts, as with
// JSON.parse.
func readOperation(text string) (op operation, err error) {
	m := agui.MembersIn(text)
	for m.Next() {
		switch m.Name() {
		case "op":
			op.op = m.Value
		case "path":
			op.path = m.Value
		case "from":
			op.from = m.Value
		case "value":
			op.value = m.Value
		}
	}
	if !m.IsComplete() || !strings.HasPrefix(op.path, `"`) {
		return op, errNoPatch
	}
	op.op, op.path = agui.Text(op.op), agui.Text(op.path)
	switch op.op {
	case "add", "replace", "test":
		if op.value == "" {
			return op, errNoPatch
		}
	case "move", "copy":
		if !strings.HasPrefix(op.from, `"`) {
			return op, errNoPatch
		}
		op.from = agui.Text(op.from)
	case "remove":
	default:
		return op, errNoPatch
	}
	return op, nil
}

func (d *document) do(op operation) error {
	switch op.op {
	case "add":
		return d.add(op.path, value{raw: op.value})
	case "remove":
		_, err := d.remove(op.path)
		return err
	case "replace":
		v, err := d.find(op.path)
		if err == nil {
			*v = value{raw: op.value}
		}
		return err
	case "test":
		v, err := d.find(op.path)
		if err != nil {
			return err
		}
		return d.requireSame(v, &value{raw: op.value})
	case "copy":
		v, err := d.find(op.from)
		if err != nil {
			return err
		}
		if err := d.join(v); err != nil {
			return err
		}
		return d.add(op.path, *v)
	}
	return d.move(op.from, op.path)
}

// move moves a value to another place. The parent of the new place must exist both before and after
// the value is removed from its old place.
func (d *document) move(from, path string) error {
	switch {
	case path == "":
		v, err := d.find(from)
		if err == nil {
			d.root = *v
		}
		return err
	case from == "":
		return errNoPlace
	}
	if _, _, err := d.parent(path); err != nil {
		return err
	}
	v, err := d.remove(from)
	if err != nil {
		return err
	}
	return d.add(path, v)
}

// join turns a value that was split into parts back into text, because copying a text is cheap.
func (d *document) join(v *value) error {
	if v.parts == nil {
		return nil
	}
	text, err := v.appendTo(nil, d.max)
	if err != nil {
		return err
	}
	*v = value{raw: string(text)}
	return d.effort.take(len(text))
}

// parent returns the object or list in which a path names a part, and the last token of the path,
// which identifies the part. The path must not be that of the root.
func (d *document) parent(path string) (*parts, string, error) {
	rest, ok := strings.CutPrefix(path, "/")
	if !ok {
		return nil, "", errNoPlace
	}
	last := ""
	for at := &d.root; ; {
		token, more, further := strings.Cut(rest, "/")
		if token == "__proto__" || token == "prototype" && last == "constructor" {
			return nil, "", errNoPlace // the client rejects these tokens
		}
		last = token
		token = unescapeToken(token)
		if strings.ContainsRune(token, '\uFFFD') {
			return nil, "", errNoPlace
		}
		p, err := at.takeApart(&d.effort)
		if err != nil || !further {
			return p, token, err
		}
		if at = p.part(token); at == nil {
			return nil, "", errNoPlace
		}
		rest = more
	}
}

// unescapeToken replaces the escapes ~1 and ~0 in a token, in the same order as the client.
func unescapeToken(token string) string {
	if strings.IndexByte(token, '~') < 0 {
		return token
	}
	return strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
}

// find returns the value that a path names. The path of the root is "".
func (d *document) find(path string) (*value, error) {
	if path == "" {
		return &d.root, nil
	}
	p, token, err := d.parent(path)
	if err != nil {
		return nil, err
	}
	if v := p.part(token); v != nil {
		return v, nil
	}
	return nil, errNoPlace
}

func (d *document) add(path string, v value) error {
	if path == "" {
		d.root = v
		return nil
	}
	p, token, err := d.parent(path)
	switch {
	case err != nil:
		return err
	case !p.isList:
		p.object.set(token, string(agui.AppendString(nil, token)), v)
		return nil
	case token == "-":
		p.list.push(v)
		return nil
	}
	n, ok := index(token)
	if !ok || n > p.list.length {
		return errNoPlace
	}
	p.list.insert(n, v)
	return nil
}

func (d *document) remove(path string) (value, error) {
	if path == "" {
		v := d.root
		d.root = value{raw: "null"}
		return v, nil
	}
	v, err := d.find(path)
	if err != nil {
		return value{}, err
	}
	taken := *v
	p, token, err := d.parent(path)
	if err != nil {
		return value{}, err
	}
	if n, ok := index(token); ok && p.isList {
		p.list.remove(n)
	} else {
		p.object.remove(token)
	}
	return taken, nil
}

// requireSame returns an error if JavaScript does not consider the two values equal.
func (d *document) requireSame(a, b *value) error {
	x, y := kindOf(a), kindOf(b)
	if x != y {
		return errDifferent
	}
	if x == '{' || x == '[' {
		return d.sameParts(a, b)
	}
	if err := d.effort.take(len(a.raw) + len(b.raw)); err != nil {
		return err
	}
	equal := a.raw == b.raw
	switch {
	case equal:
	case x == '"':
		equal = agui.Text(a.raw) == agui.Text(b.raw)
	case x == '0':
		// if the number is too large, it is infinite, as in JavaScript
		m, _ := strconv.ParseFloat(a.raw, 64)
		n, _ := strconv.ParseFloat(b.raw, 64)
		equal = m == n
	}
	if !equal {
		return errDifferent
	}
	return nil
}

func (d *document) sameParts(a, b *value) error {
	x, err := a.takeApart(&d.effort)
	if err != nil {
		return err
	}
	y, err := b.takeApart(&d.effort)
	if err != nil {
		return err
	}
	if x.list.length != y.list.length || len(x.object.places) != len(y.object.places) {
		return errDifferent
	}
	n := 0
	if x.isList {
		return x.each(func(_ string, one *value) error {
			n++
			return d.requireSame(one, y.list.at(n-1))
		})
	}
	for name, at := range x.object.places {
		other := y.object.get(name)
		if other == nil {
			return errDifferent
		}
		if err := d.requireSame(&x.object.members[at].value, other); err != nil {
			return err
		}
	}
	return nil
}

// kindOf returns the first character of a value's JSON text. For every number it returns '0'.
func kindOf(v *value) byte {
	switch {
	case v.parts != nil && v.parts.isList:
		return '['
	case v.parts != nil:
		return '{'
	case v.raw[0] == '-', '0' <= v.raw[0] && v.raw[0] <= '9':
		return '0'
	}
	return v.raw[0]
}

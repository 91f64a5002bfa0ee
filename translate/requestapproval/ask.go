package requestapproval

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// An ask is what a request_approval call asks for.
type ask struct {
	approvalID string
	function   string
	arguments  string // compact JSON; {} where there are none
	message    string
}

// requestKeys are what a request says.
var requestKeys = [...]string{"approval_id", "function_name", "function_arguments", "message"}

const approvalKey, functionKey, argumentsKey, messageKey = 0, 1, 2, 3

// readAsk reads the arguments of a call; false if they are not those of a request. A key that
// stands twice may be read otherwise by the backend than here, so nothing is asked by it. What is
// read lives in args.
func readAsk(args []byte) (ask, bool) {
	var request [1]namedValue
	if !readNamed(request[:], agui.MembersOf(args), "request") || !request[0].only() {
		return ask{}, false
	}
	var found [len(requestKeys)]namedValue
	if !readNamed(found[:], agui.MembersIn(request[0].value), requestKeys[:]...) {
		return ask{}, false
	}
	id, function, arguments, message := &found[approvalKey], &found[functionKey], &found[argumentsKey], &found[messageKey]
	a := ask{approvalID: agui.Text(id.value), function: agui.Text(function.value), arguments: "{}"}
	if !id.isText() || !function.isText() || !keeps(a.approvalID) || !utf8.Valid(args) || arguments.times > 1 {
		return ask{}, false
	}
	if arguments.times == 1 && arguments.value != "null" {
		a.arguments = compact(arguments.value)
	}
	if message.only() {
		a.message = agui.Text(message.value)
	}
	return a, true
}

// A namedValue is what an object has under a name.
type namedValue struct {
	value string // JSON text, of the first
	times int    // in whatever spelling
	exact bool   // the first is spelled so
}

// readNamed reads what an object has under the names. It returns false if it is not a JSON object.
func readNamed(found []namedValue, m agui.Members, names ...string) bool {
	for m.Next() {
		key := m.Name()
		at := slices.Index(names, key)
		exact := at >= 0
		if !exact {
			at = slices.IndexFunc(names, func(name string) bool { return agui.SameKey(key, name) })
		}
		if at < 0 {
			continue
		}
		if n := &found[at]; n.times == 0 {
			*n = namedValue{m.Value, 1, exact}
		} else {
			n.times++
		}
	}
	return m.Whole()
}

func (n *namedValue) only() bool { return n.times == 1 && n.exact }

func (n *namedValue) isText() bool { return n.only() && n.value[0] == '"' }

// keeps reports whether a text comes out of a record as it went in: half a surrogate pair, or what
// is not UTF-8, does not.
func keeps(s string) bool { return !strings.ContainsRune(s, utf8.RuneError) }

// only returns the one member with that name, which must be spelled so.
func only(object gjson.Result, name string) (gjson.Result, bool) {
	if len(kit.Members(object, name)) != 1 {
		return gjson.Result{}, false
	}
	v := object.Get(name)
	return v, v.Exists()
}

// compact is JSON without the white space between its tokens; numbers, escapes and the order of
// keys stay.
func compact(raw string) string {
	if !hasSpace(raw) {
		return raw
	}
	var b bytes.Buffer
	if json.Compact(&b, []byte(raw)) != nil {
		return raw
	}
	return b.String()
}

func fits[T string | []byte](args T) bool {
	_, ok := readAsk([]byte(args))
	return ok
}

// little is so little text that it may be read again for every delta.
const little = 4 << 10

// couldFit reports whether arguments that are not whole may still become those of a request. It is
// asked for every delta, so it looks at their beginning only.
func couldFit[T string | []byte](args T) bool {
	for n := range min(len(args), little) {
		if !isSpace(args[n]) {
			return args[n] == '{'
		}
	}
	return len(args) < little
}

// whole reports whether the arguments are a whole object; the last chunk had so many bytes.
// An object ends in a brace: the text is parsed only where the chunk does, and where it is
// not a small part of it. What is not found out here is at the run's end.
func whole[T string | []byte](args T, chunk int) bool {
	end := len(args)
	for end > len(args)-chunk && isSpace(args[end-1]) {
		end--
	}
	worth := len(args) <= little || chunk >= len(args)/16
	return end > len(args)-chunk && args[end-1] == '}' && worth && agui.ValidText(string(args))
}

func hasSpace(text string) bool {
	for n := range len(text) {
		if isSpace(text[n]) {
			return true
		}
	}
	return false
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// plainEnd reports whether a RUN_FINISHED tells of no outcome of its own.
func plainEnd(finish agui.Event) bool {
	outcome := finish.Get("outcome")
	return finish.Valid() && (outcome.Type == gjson.Null || outcome.Get("type").Str == "success")
}

// object returns the AG-UI Interrupt without its id. callID is "" for a call that the client was
// not shown.
func (a ask) object(callID string) []byte {
	o := []byte{'{'}
	if callID == "" {
		o = kit.AppendText(o, "reason", "confirmation")
	} else {
		o = kit.AppendText(o, "reason", "tool_call")
	}
	message := a.message
	if message == "" {
		message = fmt.Sprintf("The agent asks to call the tool %s.", a.function)
	}
	o = kit.AppendText(o, "message", message)
	if callID != "" {
		o = kit.AppendText(o, "toolCallId", callID)
	}
	o = kit.AppendMember(o, `"responseSchema"`, kit.ApprovalSchema) // it takes no edited arguments
	own := kit.AppendMember(kit.AppendText([]byte{'{'}, "functionName", a.function), `"functionArguments"`, a.arguments)
	o = kit.AppendMember(o, `"metadata"`, `{"`+Name+`":`+string(own)+`}}`)
	return append(o, '}')
}

// A questionState is what an interrupt keeps for the resume.
type questionState struct {
	Call string `json:"call"`
	// Args are the arguments of the synthetic call as they came, text for text: what the backend
	// runs are those.
	Args     string `json:"args"`
	Approval string `json:"approval"`
	Parent   string `json:"parent"` // id of the assistant's message that has the call
}

// keptOf returns what the interrupts of a pause keep; false where another dialect made it.
func keptOf(p agui.Pause) ([]questionState, bool) {
	list := make([]questionState, len(p.Interrupts))
	for n, i := range p.Interrupts {
		if json.Unmarshal(i.Private, &list[n]) != nil || !fits(list[n].Args) {
			return nil, false
		}
	}
	return list, len(list) > 0
}

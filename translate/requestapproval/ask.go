package requestapproval

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// An ask is what a request_approval call asks: may the backend run this function with these
// arguments?
type ask struct {
	approvalID string
	function   string
	arguments  string // compact JSON; {} if the request has none
	message    string
}

// requestKeys are the keys of a request. The constants below are their indexes.
var requestKeys = [...]string{"approval_id", "function_name", "function_arguments", "message"}

const approvalKey, functionKey, argumentsKey, messageKey = 0, 1, 2, 3

// readAsk parses the arguments of a request_approval call. It returns false if they do not have the
// form of a request. It also returns false if a key is repeated, because the backend may read the
// other value. The result shares memory with args.
func readAsk(args []byte) (ask, bool) {
	var request [1]namedValue
	if !readNamed(request[:], agui.MembersOf(args), "request") || !request[0].isSingle() {
		return ask{}, false
	}
	var found [len(requestKeys)]namedValue
	if !readNamed(found[:], agui.MembersIn(request[0].value), requestKeys[:]...) {
		return ask{}, false
	}
	id, function, arguments, message := &found[approvalKey], &found[functionKey], &found[argumentsKey], &found[messageKey]
	a := ask{approvalID: agui.Text(id.value), function: agui.Text(function.value), arguments: "{}"}
	if !id.isText() || !function.isText() || !storesUnchanged(a.approvalID) || !utf8.Valid(args) || arguments.times > 1 {
		return ask{}, false
	}
	if arguments.times == 1 && arguments.value != "null" {
		a.arguments = compact(arguments.value)
	}
	if message.isSingle() {
		a.message = agui.Text(message.value)
	}
	return a, true
}

// A namedValue is the value that an object has under a name. The name may be spelled in several
// ways.
type namedValue struct {
	value string // the JSON text of the first value
	times int    // how often the name occurs, in any spelling
	exact bool   // the first key is spelled exactly like the name
}

// readNamed reads the values of the names into found, which has one entry for each name. It returns
// false if m is not a whole JSON object.
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
	return m.IsComplete()
}

func (n *namedValue) isSingle() bool { return n.times == 1 && n.exact }

func (n *namedValue) isText() bool { return n.isSingle() && n.value[0] == '"' }

// storesUnchanged reports whether a record stores the text unchanged. It does not if the text has
// half a surrogate pair, or bytes that are not UTF-8.
func storesUnchanged(s string) bool { return !strings.ContainsRune(s, utf8.RuneError) }

// singleMember returns the value of the member with the name. It returns false if the name occurs
// more than once in any spelling, or is not spelled exactly.
func singleMember(object gjson.Result, name string) (gjson.Result, bool) {
	if len(kit.Members(object, name)) != 1 {
		return gjson.Result{}, false
	}
	v := object.Get(name)
	return v, v.Exists()
}

// compact removes the white space between the tokens of a JSON text. Numbers, escapes and the order
// of keys stay unchanged.
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

// smallText is the largest size in bytes of a text that may be parsed again for every delta.
const smallText = 4 << 10

// couldFit reports whether incomplete arguments may still become the arguments of a request. It is
// called for every delta, so it only checks whether they begin with a brace.
func couldFit[T string | []byte](args T) bool {
	for n := range min(len(args), smallText) {
		if !isSpace(args[n]) {
			return args[n] == '{'
		}
	}
	return len(args) < smallText
}

// isComplete reports whether the arguments are a complete object. chunk is the size of the last
// chunk. An object ends with a brace, so isComplete parses the text only if the chunk ends with a
// brace. It also parses a long text only if the chunk is at least a sixteenth of it. A complete
// object that it misses for this reason is found at the end of the run.
func isComplete[T string | []byte](args T, chunk int) bool {
	end := len(args)
	for end > len(args)-chunk && isSpace(args[end-1]) {
		end--
	}
	worth := len(args) <= smallText || chunk >= len(args)/16
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

// plainEnd reports whether a RUN_FINISHED has no outcome, or the outcome success.
func plainEnd(finish agui.Event) bool {
	outcome := finish.Get("outcome")
	return finish.Valid() && (outcome.Type == gjson.Null || outcome.Get("type").Str == "success")
}

// object returns the AG-UI Interrupt without its id. callID is "" if the client was not shown the
// call.
func (a ask) object(callID string) []byte {
	own := kit.AppendMember(kit.AppendText([]byte{'{'}, "functionName", a.function), `"functionArguments"`, a.arguments)
	q := kit.Question{
		Reason: "tool_call", Message: cmp.Or(a.message, fmt.Sprintf(askCall, a.function)), Call: callID,
		Schema:   kit.ApprovalSchema, // the schema does not accept edited arguments
		Metadata: `{"` + Name + `":` + string(own) + `}}`,
	}
	if callID == "" {
		q.Reason = "confirmation"
	}
	return q.Object()
}

// A questionState is what the dialect stores about a question until its resume.
type questionState struct {
	Call string `json:"call"`
	// Args are the arguments of the synthetic call, byte for byte, because the backend runs exactly
	// the arguments that it gets back.
	Args     string `json:"args"`
	Approval string `json:"approval"`
	Parent   string `json:"parent"` // the id of the assistant's message with the call
}

// keptOf returns the stored states of the questions of a pause. It returns false if another dialect
// made the pause.
func keptOf(p agui.Pause) ([]questionState, bool) {
	list := make([]questionState, len(p.Interrupts))
	for n, i := range p.Interrupts {
		if json.Unmarshal(i.Private, &list[n]) != nil || !fits(list[n].Args) {
			return nil, false
		}
	}
	return list, len(list) > 0
}

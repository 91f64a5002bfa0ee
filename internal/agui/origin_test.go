package agui

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestAskedDigest: the digest depends on agent, tenant, thread, the whole interrupt, and the calls
// with their arguments. It does not depend on white space and the order of keys.
func TestAskedDigest(t *testing.T) {
	interrupt := func(object, name, args string) *Interrupt {
		return &Interrupt{ID: "i", Object: json.RawMessage(object), Calls: []AskedCall{{ID: "c", Name: name, Args: args}}}
	}
	const object = `{"id":"i","reason":"tool_call","message":"Refund?"}`
	from := &Origin{Agent: "billing", Tenant: "acme", Thread: "t1", Run: "r1", Path: "/a"}
	same := from.AskedDigest(interrupt(object, "refund", `{"amount":1,"to":"x"}`))

	// want was computed by this command, in one line without the line breaks:
	//
	//	printf '%s' '{"agent":"billing","calls":[{"arguments":{"amount":1,"to":"x"},"name":"refund"}],
	//	"interrupt":{"id":"i","message":"Refund?","reason":"tool_call"},"tenant":"acme","thread":"t1"}' |
	//	sha256sum
	const want = "sha256:944ed5abc648214c30c319d0076b6cdeff7f2dd15d8d8adca778b5122f65b8bd"
	if same != want {
		t.Errorf("digest is %s, want %s", same, want)
	}
	for name, c := range map[string]struct {
		from  *Origin
		i     *Interrupt
		equal bool
	}{
		"white space and order":     {from, interrupt(`{ "reason":"tool_call","id":"i","message":"Refund?"}`, "refund", `{"to":"x", "amount":1}`), true},
		"another run of the thread": {&Origin{Agent: "billing", Tenant: "acme", Thread: "t1", Run: "r2"}, interrupt(object, "refund", `{"amount":1,"to":"x"}`), true},
		"another agent":             {&Origin{Agent: "b", Tenant: "acme", Thread: "t1"}, interrupt(object, "refund", `{"amount":1,"to":"x"}`), false},
		"another tenant":            {&Origin{Agent: "billing", Thread: "t1"}, interrupt(object, "refund", `{"amount":1,"to":"x"}`), false},
		"another thread":            {&Origin{Agent: "billing", Tenant: "acme", Thread: "t2"}, interrupt(object, "refund", `{"amount":1,"to":"x"}`), false},
		"nobody knows where from":   {nil, interrupt(object, "refund", `{"amount":1,"to":"x"}`), false},
		"another message":           {from, interrupt(`{"id":"i","reason":"tool_call","message":"refund?"}`, "refund", `{"amount":1,"to":"x"}`), false},
		"another tool":              {from, interrupt(object, "refund2", `{"amount":1,"to":"x"}`), false},
		"another value":             {from, interrupt(object, "refund", `{"amount":2,"to":"x"}`), false},
		"a key twice":               {from, interrupt(object, "refund", `{"amount":1,"amount":10000,"to":"x"}`), false},
		"arguments as text":         {from, interrupt(object, "refund", `"{\"amount\":1,\"to\":\"x\"}"`), false},
	} {
		if got := c.from.AskedDigest(c.i); (got == same) != c.equal {
			t.Errorf("%s: the digest is the same: %t", name, got == same)
		}
	}
	// If a key has two values, their order changes the digest.
	twice := from.AskedDigest(interrupt(object, "refund", `{"amount":1,"amount":10000}`))
	if twice == from.AskedDigest(interrupt(object, "refund", `{"amount":10000,"amount":1}`)) {
		t.Error("a key twice: the order does not count")
	}
}

// TestAskedDigestIsThatOfMarshal: a part of the digest's object is appended by hand, and the object
// is the same as that of Marshal. Digests of earlier versions are in audit logs.
func TestAskedDigestIsThatOfMarshal(t *testing.T) {
	long := strings.Repeat("x", oddBytes)
	for _, object := range []string{
		``, `{}`, `{"id":"i","message":"a<b>&\u2028\"\\ \ud83d\ude00 ü"}`, " {\t\"b\" : 1 ,\n\"a\":[ 1, \"c \\\" d\" ] } ",
		strings.Repeat(`{"b":1,"a": `, 70) + `0` + strings.Repeat(`}`, 70),
		`{"a": ` + strings.Repeat(`[ `, MaxDepth) + `"` + long + `"` + strings.Repeat(` ]`, MaxDepth) + `}`,
	} {
		for _, text := range []string{"", "t1", "<ü\u2028\"\\\x01>", "\xff"} {
			i := &Interrupt{Calls: []AskedCall{{Name: text, Args: `{"b":1, "a":2}`}}}
			if object != "" {
				i.Object = json.RawMessage(object)
			}
			from := &Origin{Agent: text, Tenant: text, Thread: text}
			want := canonicalDigest(MustMarshal(struct {
				Agent     string          `json:"agent"`
				Tenant    string          `json:"tenant"`
				Thread    string          `json:"thread"`
				Interrupt json.RawMessage `json:"interrupt"`
				Calls     json.RawMessage `json:"calls"`
			}{text, text, text, i.Object, i.AskedCalls()}))
			if got := from.AskedDigest(i); got != want {
				t.Errorf("%.40s of %q: %s, want %s", object, text, got, want)
			}
		}
	}
}

// TestAskedCalls: arguments become a JSON string if they are not valid JSON, or not completely
// known.
func TestAskedCalls(t *testing.T) {
	i := &Interrupt{Calls: []AskedCall{{Name: "a", Args: `{"x":1}`}, {Name: "b", Args: `{"x":`, ArgumentsUnknown: true}, {Name: "c", Args: `{"x"`}}}
	const want = `[{"name":"a","arguments":{"x":1}},{"name":"b","arguments":"{\"x\":"},{"name":"c","arguments":"{\"x\""}]`
	if got := string(i.AskedCalls()); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := (&Interrupt{}).AskedCalls(); got != nil {
		t.Errorf("without calls: %s", got)
	}
}

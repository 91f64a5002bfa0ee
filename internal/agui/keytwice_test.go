package agui

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"holdpoint/internal/test/hostile"
)

// keysCases are texts, each with the error that is expected, or "" if no object has a key twice.
var keysCases = []struct {
	name  string
	place KeyPlace
	text  string
	want  string
}{
	{"nothing", KeysOfData, `{}`, ""},
	{"no object", KeysOfData, `[1,"a","a",[]]`, ""},
	{"the same key in two objects", KeysOfData, `{"a":{"a":{"a":1}},"b":[{"a":1},{"a":2}],"c":{"a":1}}`, ""},
	{"a value that is a key elsewhere", KeysOfData, `{"a":"b","b":"a"}`, ""},
	{"at the root", KeysOfData, `{"a":1,"b":2,"a":3}`, `key "a" stands twice`},
	{"behind an object", KeysOfData, `{"a":{"x":1},"a":3}`, `key "a" stands twice`},
	{"in an object", KeysOfData, `{"a":{"x":1,"x":2}}`, `key "x" in a stands twice`},
	{"in a list of lists", KeysOfData, `{"a":[[],[0,{"x":1,"x":1}]]}`, `key "x" in a[1][1] stands twice`},
	{"in a list at the root", KeysOfData, ` [ {} , { "x" : 1 , "x" : 1 } ] `, `key "x" in [1] stands twice`},
	{"an odd path", KeysOfData, `{"a b":{"":{"x":1,"x":2}}}`, `key "x" in ["a b"][""] stands twice`},
	{"an empty key", KeysOfData, `{"":1,"":2}`, `key "" stands twice`},
	{"with an escape", KeysOfData, `{"a\u0062":1,"ab":2}`, `key "ab" stands twice`},
	{"with escapes of either case", KeysOfData, `{"\u00e9":1,"\u00E9":2}`, `key "é" stands twice`},
	{"an escape and the letter", KeysOfData, `{"\u00e9":1,"é":2}`, `key "é" stands twice`},
	{"short escapes", KeysOfData, `{"\/\n\"\\\t\b\f\r":1,"\u002f\u000a\u0022\u005c\u0009\u0008\u000c\u000d":2}`, `key "/\n\"\\\t\b\f\r" stands twice`},
	{"a pair of surrogates", KeysOfData, `{"\ud83d\ude00":1,"😀":2}`, `key "😀" stands twice`},
	{"half a pair and a letter", KeysOfData, `{"\ud83d\u0041":1,"\ud83dA":2}`, `key "�A" stands twice`},
	{"half a pair and a pair", KeysOfData, `{"\ud83d\ud83d\ude00":1,"\ud83d😀":2}`, `key "�😀" stands twice`},
	{"two halves that Go reads alike", KeysOfData, `{"\ud800":1,"\udfff":2}`, `key "�" stands twice`},
	{"two halves in the wrong order", KeysOfData, `{"\ude00\ud83d":1,"😀":2}`, ""},
	{"a NUL", KeysOfData, `{"a\u0000":1,"a":2}`, ""},
	{"a mark within", KeysOfData, `{"\ufeffa":1,"a":2}`, ""},
	{"the same to the eye", KeysOfData, `{"\u00e9":1,"e\u0301":2}`, ""},
	{"another case is other data", KeysOfData, `{"id":1,"ID":2,"i_d":3}`, ""},
	{"two bytes that are no text", KeysOfData, "{\"\xff\":1,\"\xfe\":2}", `key "�" stands twice`},

	{"another case of data in an answer", KeysOfAnswer, `{"approved":true,"editedArgs":{"id":1,"ID":2},"values":{"a":1,"A":2}}`, ""},
	{"another case in an answer", KeysOfAnswer, `{"approved":false,"Approved":true}`, `keys "approved" and "Approved" are one key to some backends`},
	{"an underscore in an answer", KeysOfAnswer, `{"edited_args":{},"editedArgs":{}}`, `keys "edited_args" and "editedArgs" are one key to some backends`},
	{"a long s", KeysOfAnswer, `{"status":1,"\u017ftatus":2}`, `keys "status" and "ſtatus" are one key to some backends`},
	{"in a decision of several", KeysOfAnswer, `{"decisions":[{"type":"approve"},{"type":"reject","Type":"approve"}]}`, `keys "type" and "Type" in decisions[1] are one key to some backends`},
	{"twice in the data of an answer", KeysOfAnswer, `{"editedArgs":{"path":"a","path":"b"}}`, `key "path" in editedArgs stands twice`},

	{"data of a run", KeysOfRun, whole, ""},
	{"another case of a run's data", KeysOfRun, `{"threadId":"t","state":{"id":1,"ID":2},"context":[{"a":1,"A":1}],"tools":[{"name":"f","parameters":{"id":1,"ID":2}}],
		"messages":[{"role":"user","content":[{"type":"text","Type":"x"}],"extra":{"a":1,"A":2},"toolCalls":[{"function":{"arguments":{"id":1,"ID":2}}}]}],"forwardedProps":{"config":{"a":1,"A":2},"x":1,"X":2,"command":{"update":{"a":1,"A":2}}}}`, ""},
	{"the root", KeysOfRun, `{"tools":[],"Tools":[]}`, `keys "tools" and "Tools" are one key to some backends`},
	{"a message", KeysOfRun, `{"messages":[{},{"role":"user","role":"tool"}]}`, `key "role" in messages[1] stands twice`},
	{"a message, spelled otherwise", KeysOfRun, `{"Messages":[{"toolCallId":"","tool_call_id":"c"}]}`, `keys "toolCallId" and "tool_call_id" in Messages[0] are one key to some backends`},
	{"a content that is an object", KeysOfRun, `{"messages":[{"content":{"accepted":false,"accepted":true}}]}`, `key "accepted" in messages[0].content stands twice`},
	{"what an activity shows", KeysOfRun, `{"messages":[{"role":"activity","content":{"id":1,"ID":2}}]}`, ""},
	{"a call", KeysOfRun, `{"messages":[{"toolCalls":[{"id":"a"},{"id":"a","ID":"b"}]}]}`, `keys "id" and "ID" in messages[0].toolCalls[1] are one key to some backends`},
	{"a function", KeysOfRun, `{"messages":[{"tool_calls":[{"function":{"name":"f","Name":"g"}}]}]}`, `keys "name" and "Name" in messages[0].tool_calls[0].function are one key to some backends`},
	{"approvals", KeysOfRun, `{"messages":[{"function_approvals":[{"approved":false,"Approved":true}]}]}`, `keys "approved" and "Approved" in messages[0].function_approvals[0] are one key to some backends`},
	{"a tool", KeysOfRun, `{"tools":[{"name":"f","NAME":"g"}]}`, `keys "name" and "NAME" in tools[0] are one key to some backends`},
	{"tools that are no list", KeysOfRun, `{"tools":{"name":"f","NAME":"g"}}`, `keys "name" and "NAME" in tools are one key to some backends`},
	{"a tool's parameters", KeysOfRun, `{"tools":[{"parameters":{"type":1,"type":2}}]}`, `key "type" in tools[0].parameters stands twice`},
	{"an entry", KeysOfRun, `{"resume":[{"status":"a","Status":"b"}]}`, `keys "status" and "Status" in resume[0] are one key to some backends`},
	{"a payload", KeysOfRun, `{"resume":[{"payload":{"approved":false,"Approved":true}}]}`, `keys "approved" and "Approved" in resume[0].payload are one key to some backends`},
	{"a resume in forwardedProps", KeysOfRun, `{"forwardedProps":{"resume":{"interrupts":[],"Interrupts":[]}}}`, `keys "interrupts" and "Interrupts" in forwardedProps.resume are one key to some backends`},
	{"an entry in it", KeysOfRun, `{"forwarded_props":{"resume":[{"interruptId":"","interrupt_id":"n"}]}}`, `keys "interruptId" and "interrupt_id" in forwarded_props.resume[0] are one key to some backends`},
	{"a command", KeysOfRun, `{"forwardedProps":{"command":{"resume":1,"Resume":2}}}`, `keys "resume" and "Resume" in forwardedProps.command are one key to some backends`},
	{"an answer in it", KeysOfRun, `{"forwardedProps":{"command":{"resume":{"type":"a","Type":"b"}}}}`, `keys "type" and "Type" in forwardedProps.command.resume are one key to some backends`},
	{"an echo", KeysOfRun, `{"forwardedProps":{"command":{"interruptEvent":{"interrupts":[{"id":1,"Id":2}]}}}}`, `keys "id" and "Id" in forwardedProps.command.interruptEvent.interrupts[0] are one key to some backends`},
	{"what an echo asks about", KeysOfRun, `{"forwardedProps":{"command":{"interruptEvent":{"value":{"id":1,"ID":2}}}}}`, ""},
	{"the state", KeysOfRun, `{"state":[{"a":1,"a":2}]}`, `key "a" in state[0] stands twice`},
}

func TestCheckKeys(t *testing.T) {
	for _, c := range keysCases {
		t.Run(c.name, func(t *testing.T) {
			got := ""
			if err := CheckKeysIn(c.text, c.place); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// keysOf returns an object with n keys. If twice is true, it has one key more, which repeats the
// first.
func keysOf(n int, twice bool) string {
	list := hostile.Many(n, func(i int) string { return fmt.Sprintf(`"key_%d":%d`, i, i) })
	if twice {
		list += `,"key\u005f0":0`
	}
	return "{" + list + "}"
}

// TestCheckKeysOfManySizes: a repeated key is found in objects of any size, also inside other
// objects.
func TestCheckKeysOfManySizes(t *testing.T) {
	for _, place := range []KeyPlace{KeysOfData, KeysOfAnswer} {
		for n := 1; n < 200; n += 1 + n/20*7 {
			for depth := range 4 {
				for _, twice := range []bool{false, true} {
					text := keysOf(n, twice)
					for range depth { // adds a large object with the same keys around the text
						text = `{"a":[` + keysOf(n, false) + `],"b":` + text + "," + keysOf(n, false)[1:]
					}
					if err := CheckKeysIn(text, place); (err != nil) != twice {
						t.Fatalf("%d keys, %d deep: %v", n, depth, err)
					}
				}
			}
		}
	}
}

// TestCheckKeysTakesOneAllocation: checking an ordinary run needs at most one allocation, however
// long the run is.
func TestCheckKeysTakesOneAllocation(t *testing.T) {
	text := `{"threadId":"t","runId":"r","state":{"a":{"b":[{"id":1,"ID":2}]}},"messages":[` + strings.Repeat(`{"id":"m","role":"assistant","content":"x\n","toolCalls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},`, 50) +
		`{"id":"m","role":"user","content":"` + strings.Repeat("text ", 1000) + `"}],"tools":[{"name":"f","description":"","parameters":{"type":"object","properties":{}}}],"context":[],"resume":[{"interruptId":"x","status":"resolved","payload":{"approved":true}}],"forwardedProps":{}}`
	if n := testing.AllocsPerRun(100, func() {
		if err := CheckKeysIn(text, KeysOfRun); err != nil {
			t.Fatal(err)
		}
	}); n > 1 {
		t.Errorf("%v allocations", n)
	}
}

// hostileKeys has functions that return a text of about size bytes. Comparing the keys of such a
// text could be expensive.
var hostileKeys = map[string]func(size int) string{
	"very many keys": func(size int) string { return keysOf(size/14, false) },
	"many keys with escapes": func(size int) string {
		return "{" + hostile.Many(size/20, func(i int) string { return fmt.Sprintf(`"\u0041%d":0`, i) }) + "}"
	},
	"long keys of one length": func(size int) string {
		return "{" + hostile.Many(20, func(i int) string { return fmt.Sprintf(`"%s%02d":0`, strings.Repeat("x", size/20), i) }) + "}"
	},
	"small objects": func(size int) string { return "[" + hostile.Many(size/4, hostile.Same(`{}`)) + "]" },
	"objects of a few keys": func(size int) string {
		return "[" + hostile.Many(size/120, hostile.Same(keysOf(8, false))) + "]"
	},
	"objects of some keys": func(size int) string {
		return "[" + hostile.Many(size/250, hostile.Same(keysOf(fewKeys+1, false))) + "]"
	},
	"the same keys at each depth": func(size int) string {
		deep := min(size/300, 900)
		return strings.Repeat(keysOf(20, false)[:1]+keysOf(20, false)[1:len(keysOf(20, false))-1]+`,"x":`, deep) + "0" + strings.Repeat("}", deep)
	},
	"folding letters": func(size int) string {
		return "{" + hostile.Many(size/24, func(i int) string { return fmt.Sprintf(`"____ſK%d":0`, i) }) + "}"
	},
}

// TestCheckKeysIsLinear: checking 4 MiB of each text takes a fraction of a second. It allocates at
// most a few times the memory of the text.
func TestCheckKeysIsLinear(t *testing.T) {
	const size = 4 << 20
	for name, made := range hostileKeys {
		for place, how := range map[KeyPlace]string{KeysOfData: "data", KeysOfAnswer: "an answer"} {
			t.Run(name+" of "+how, func(t *testing.T) {
				text := made(size)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				begun := hostile.ProcessorTime(t)
				if err := CheckKeysIn(text, place); err != nil {
					t.Fatal(err)
				}
				took := hostile.ProcessorTime(t) - begun
				runtime.ReadMemStats(&after)
				if took > hostile.Limit {
					t.Errorf("%v for %d MiB", took, len(text)>>20)
				}
				// TotalAlloc counts all allocations. Only about half of this memory is in use at
				// the same time.
				if times := float64(after.TotalAlloc-before.TotalAlloc) / float64(len(text)); times > 8 {
					t.Errorf("%.1f times the text's memory", times)
				} else {
					t.Logf("%v, %.1f times the text's memory", took, times)
				}
			})
		}
	}
}

// FuzzCheckKeys: CheckKeysIn must not panic, and must agree with a check by encoding/json.
func FuzzCheckKeys(f *testing.F) {
	for _, c := range keysCases {
		f.Add([]byte(c.text), uint8(c.place))
	}
	for _, s := range []string{`{"a":1,"a"`, `}{`, `"`, `{"a`, `{"\u`, `[{"a":1},{"a":1}`, `{,"a":1,,"a":2}`, `{[`, `{[{"a":1,"a":2`, "{\"a\xff\":1,\"a\xfe\":2}", keysOf(40, true), keysOf(17, false)} {
		f.Add([]byte(s), uint8(0))
	}
	f.Fuzz(func(t *testing.T, body []byte, place uint8) {
		text := string(body)
		err := CheckKeysIn(text, KeyPlace(place%uint8(keysOfEcho+1)))
		if !ValidText(text) {
			return
		}
		want := twiceByEncodingJSON(t, body)
		var twice *KeyTwiceError
		if err != nil && !errors.As(err, &twice) {
			t.Fatal(err)
		}
		if want && err == nil {
			t.Fatalf("%q has a key twice", text)
		}
		if !want && err != nil && (KeyPlace(place%uint8(keysOfEcho+1)) == KeysOfData || !SameKey(twice.Key, twice.Other) && len(twice.Key) < 200) {
			t.Fatalf("%q: %v", text, err)
		}
	})
}

// twiceByEncodingJSON reports whether an object in the text has the same key twice.
func twiceByEncodingJSON(t *testing.T, text []byte) bool {
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	var value func() bool
	value = func() bool {
		token, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		twice := false
		switch token {
		case json.Delim('{'):
			keys := map[string]bool{}
			for d.More() {
				key, err := d.Token()
				if err != nil {
					t.Fatal(err)
				}
				name, _ := key.(string)
				twice = twice || keys[name]
				keys[name] = true
				twice = value() || twice
			}
			d.Token()
		case json.Delim('['):
			for d.More() {
				twice = value() || twice
			}
			d.Token()
		}
		return twice
	}
	return value()
}

// TestCheckKeysOfMadeUpTexts: the check must agree with a check by encoding/json for random texts
// of large nested objects.
func TestCheckKeysOfMadeUpTexts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var object func(depth int, twice bool) string
	object = func(depth int, twice bool) string {
		n := r.IntN(70)
		members := make([]string, 0, n)
		for i := range n {
			key, value := fmt.Sprint("k", i), "0"
			if depth < 4 && r.IntN(12) == 0 {
				value = object(depth+1, false)
			}
			members = append(members, fmt.Sprintf(`"%s":%s`, key, value))
		}
		if twice && n > 0 {
			members = append(members, fmt.Sprintf(`"\u006b%d":[%s]`, r.IntN(n), object(4, false)))
		}
		r.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		return "{" + strings.Join(members, ",") + "}"
	}
	found := 0
	for range 200 {
		text := "[" + object(0, false) + "," + object(2, r.IntN(2) == 0) + "," + object(0, false) + "]"
		want := twiceByEncodingJSON(t, []byte(text))
		if want {
			found++
		}
		for _, place := range []KeyPlace{KeysOfData, KeysOfAnswer} {
			if err := CheckKeysIn(text, place); (err != nil) != want {
				t.Fatalf("%v, want an error: %v\n%s", err, want, text)
			}
		}
	}
	if found < 50 {
		t.Errorf("only %d texts have a key twice", found)
	}
}

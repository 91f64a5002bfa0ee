package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"holdpoint/internal/event"
)

const version = 1

// noPrevious is the value of prev in the first line of a chain, because no line precedes that line.
var noPrevious = strings.Repeat("0", 2*sha256.Size)

// These are the kinds of lines that the audit writes about the chain itself. All other lines record
// events.
const (
	kindBegun     event.Kind = "chain.begun"
	kindRecovered event.Kind = "chain.recovered"
)

// A line is one line of the file. The fields have the same order as the members in the file.
type line struct {
	V             int         `json:"v"`
	Seq           uint64      `json:"seq"`
	Prev          string      `json:"prev"`
	Time          string      `json:"time"`
	Event         event.Kind  `json:"event"`
	Agent         string      `json:"agent,omitempty"`
	Tenant        string      `json:"tenant,omitempty"`
	Thread        string      `json:"thread,omitempty"`
	Run           string      `json:"run,omitempty"`
	Pause         string      `json:"pause,omitempty"`
	Approval      string      `json:"approval,omitempty"`
	Dialect       string      `json:"dialect,omitempty"`
	Door          event.Door  `json:"door,omitempty"`
	Principal     string      `json:"principal,omitempty"`
	PrincipalHash string      `json:"principal_hash,omitempty"`
	Code          string      `json:"code,omitempty"`
	Interrupts    []interrupt `json:"interrupts,omitempty"`
	Missed        uint64      `json:"missed,omitempty"`
	Torn          *tornLine   `json:"torn,omitempty"`
}

type interrupt struct {
	ID             string          `json:"id"`
	Reason         string          `json:"reason,omitempty"`
	Tools          []string        `json:"tools,omitempty"`
	QuestionDigest string          `json:"asked,omitempty"`
	Status         string          `json:"status,omitempty"`
	Verdict        string          `json:"says,omitempty"`
	Edited         bool            `json:"edited,omitempty"`
	AnswerDigest   string          `json:"answered,omitempty"`
	Door           event.Door      `json:"door,omitempty"`
	By             string          `json:"by,omitempty"`
	Comment        string          `json:"comment,omitempty"`
	Object         json.RawMessage `json:"object,omitempty"`
	Calls          json.RawMessage `json:"calls,omitempty"`
	Payload        json.RawMessage `json:"payload,omitempty"`
}

// A tornLine describes the incomplete line that precedes a line of recovery.
type tornLine struct {
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"`
}

func lineOf(e *event.Event, o *Options) *line {
	n := &line{
		Time: stamp(e.Time), Event: e.Kind, Agent: e.Agent, Tenant: e.Tenant, Thread: e.Thread, Run: e.Run, Pause: e.Pause, Approval: e.Approval,
		Dialect: e.Dialect, Door: e.Door, Principal: e.Principal, PrincipalHash: e.PrincipalHash, Code: e.Code,
	}
	for _, i := range e.Interrupts {
		one := interrupt{
			ID: i.ID, Reason: i.Reason, Tools: i.Tools, QuestionDigest: i.QuestionDigest, Status: i.Status, Verdict: i.Verdict, Edited: i.Edited, AnswerDigest: i.AnswerDigest,
			Door: i.Door, By: i.By, Comment: i.Comment,
		}
		if o.NoComments {
			one.Comment = ""
		}
		if o.Payload {
			one.Object, one.Calls, one.Payload = asJSON(i.Object), asJSON(i.Calls), asJSON(i.Payload)
		}
		n.Interrupts = append(n.Interrupts, one)
	}
	return n
}

// asJSON returns a client's or backend's value as valid JSON, so that it can be a member of a line.
// It returns valid JSON unchanged, and anything else as a JSON string.
func asJSON(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || json.Valid(raw) {
		return raw
	}
	text, _ := json.Marshal(string(raw)) // marshalling a string cannot fail
	return text
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// encode returns the line as JSON without a newline at its end. JSON escapes the newlines in
// strings, so the result contains no newline at all.
func (n *line) encode() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(n); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func hashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// read parses a line, and checks the members on which the chain depends. ok is false if text is not
// a valid line.
func read(text []byte) (n line, ok bool) {
	if err := json.Unmarshal(text, &n); err != nil {
		return n, false
	}
	return n, n.V == version && n.Seq > 0 && len(n.Prev) == len(noPrevious) && n.Event != "" && n.Time != ""
}

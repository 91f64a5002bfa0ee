package dotnetclient

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
)

// An event has the members that a client reads. Each type of event uses some of them.
type event struct {
	Type                      string
	ThreadID, RunID           string
	MessageID, Role, Delta    string
	ToolCallID, ToolCallName  string
	Content                   json.RawMessage
	StepName                  string
	Outcome, Result, Snapshot json.RawMessage
	Messages                  []struct{ Role string }
	Message, Code             string
}

// content returns the content of a tool result. If it is a JSON string, content returns its text,
// otherwise the JSON itself.
func (e event) content() string {
	var s string
	if json.Unmarshal(e.Content, &s) != nil {
		return string(e.Content)
	}
	return s
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// readEvents reads server-sent events, and calls each with every event. It ignores comments and all
// fields except data.
func readEvents(body io.Reader, each func(event) error) error {
	lines := bufio.NewReader(body)
	var data []string
	flush := func() error {
		if data == nil {
			return nil
		}
		text := strings.Join(data, "\n")
		data = nil
		var e event
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			return throw("JsonException", err.Error())
		}
		return each(e)
	}
	for {
		line, err := lines.ReadString('\n')
		line = strings.TrimRight(line, "\r\n")
		if value, ok := strings.CutPrefix(line, "data:"); ok {
			data = append(data, strings.TrimPrefix(value, " "))
		}
		if line == "" && err == nil {
			if err := flush(); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return flush()
		case err != nil:
			return throw("HttpIOException", "The response ended prematurely. (ResponseEnded)")
		}
	}
}

// unknown returns the exception that both clients throw at an event of an unknown type.
func unknown(kind string) error {
	return throw("JsonException", "Unknown BaseEvent type discriminator: '"+kind+"'")
}

// arguments parses the arguments that the events of a call have sent. It returns nil if they are
// empty or null.
func arguments(text string) (json.RawMessage, error) {
	if text == "" {
		return nil, nil
	}
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &members) != nil {
		return nil, throw("JsonException", "The JSON value could not be converted to System.Collections.Generic.IDictionary`2[System.String,System.Object].")
	}
	if members == nil {
		return nil, nil
	}
	return json.RawMessage(text), nil
}

func without[T comparable](list []T, one T) []T {
	return slices.DeleteFunc(list, func(v T) bool { return v == one })
}

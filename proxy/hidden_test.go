package proxy

import (
	"net/http"
	"strings"
	"testing"

	"holdpoint/internal/agui"
)

// TestQuestionsThatAClientWouldSeeAlone: a client that uses JSON.parse reads each of these events
// as a question. Holdpoint must either record the question, or not send the event.
func TestQuestionsThatAClientWouldSeeAlone(t *testing.T) {
	const (
		outcome = `"outcome":{"type":"interrupt","interrupts":[{"id":"n","reason":"r"}]}`
		success = `"outcome":{"type":"success"}`
		ids     = `"threadId":"t","runId":"r"`
	)
	deep := strings.Repeat("[", 1001) + strings.Repeat("]", 1001)
	for name, c := range map[string]struct {
		events []string
		held   bool
	}{
		"the type with an escape":         {[]string{started, `{"type":"RUN\u005fFINISHED",` + ids + `,` + outcome + `}`}, true},
		"every letter of it as an escape": {[]string{started, `{"type":"\u0052\u0055\u004e\u005f\u0046\u0049\u004e\u0049\u0053\u0048\u0045\u0044",` + ids + `,` + outcome + `}`}, true},
		"two outcomes, the last asks":     {[]string{started, `{"type":"RUN_FINISHED",` + success + `,` + ids + `,` + outcome + `}`}, true},
		"two outcomes, the first asks":    {[]string{started, `{"type":"RUN_FINISHED",` + outcome + `,` + ids + `,` + success + `}`}, false},
		"two types of an outcome":         {[]string{started, `{"type":"RUN_FINISHED",` + ids + `,` + strings.Replace(outcome, `{"type"`, `{"type":"success","type"`, 1) + `}`}, true},
		"two lists of questions":          {[]string{started, `{"type":"RUN_FINISHED",` + ids + `,` + strings.Replace(outcome, `"interrupts"`, `"interrupts":[],"interrupts"`, 1) + `}`}, true},
		"two messages of a question":      {[]string{started, `{"type":"RUN_FINISHED",` + ids + `,` + strings.Replace(outcome, `"reason"`, `"message":"Copy it?","message":"Delete it?","reason"`, 1) + `}`}, true},
		"two names of an announcement":    {[]string{started, `{"type":"CUSTOM","name":"x","name":"on_interrupt","value":"Go on?"}`, finished}, true},
		"two names of the call":           {[]string{started, `{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"ls","toolCallName":"rm"}`, `{"type":"TOOL_CALL_END","toolCallId":"c"}`, `{"type":"RUN_FINISHED",` + ids + `,` + strings.Replace(outcome, `"reason":"r"`, `"toolCallId":"c","reason":"tool_call"`, 1) + `}`}, true},
		"an outcome too deep":             {[]string{started, strings.Replace(`{"type":"RUN_FINISHED",`+ids+`,`+outcome+`}`, `"reason"`, `"x":`+deep+`,"reason"`, 1)}, false},
		"an announcement too deep":        {[]string{started, `{"type":"CUSTOM","name":"on_interrupt","value":{"x":` + deep + `}}`, finished}, false},
	} {
		for end, last := range map[string]string{"": "\n\n", ", without the last blank line": ""} {
			hiddenQuestion(t, name+end, strings.TrimSuffix(streamOf(c.events...), "\n\n")+last, c.held)
		}
	}
}

func hiddenQuestion(t *testing.T, name, stream string, held bool) {
	t.Run(name, func(t *testing.T) {
		g := realRig(t, "auto", func(w http.ResponseWriter, _ *http.Request, n int) { sendStream(w, stream) })
		got := g.do(input("t", "r", ""))
		if shown := strings.Contains(got, `"interrupts"`) || strings.Contains(got, "on_interrupt"); shown != held {
			t.Errorf("the client is asked: %v\n%.2000s", shown, got)
		}
		for _, one := range strings.Split(got, "\n") {
			if data, ok := strings.CutPrefix(one, "data: "); ok && held && agui.CheckKeys([]byte(data), agui.KeysOfData) != nil {
				t.Errorf("the client may read another value than Holdpoint: %s", data)
			}
		}
		if strings.Contains(name, "the call") && !strings.Contains(got, `"rm"`) {
			t.Errorf("the call is not the client's: %.2000s", got)
		}
		if strings.Contains(name, "too deep") != strings.Contains(got, "RUN_ERROR") {
			t.Errorf("%.2000s", got)
		}
		if again := g.do(input("t", "r2", "")); held && (g.called() != 1 || !strings.Contains(again, `"interrupts"`)) {
			t.Errorf("it is not held: backend called %d times\n%.2000s", g.called(), again)
		}
	})
}

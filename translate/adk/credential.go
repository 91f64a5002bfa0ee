package adk

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/internal/calls"
	"holdpoint/translate/kit"
)

// ADK asks for a credential with a call of adk_request_credential. The call has its AuthConfig,
// which also contains the secrets of the agent's own client. ADK expects the AuthConfig back with
// the credential in exchangedAuthCredential. So Holdpoint keeps the AuthConfig, publishes only what
// a person needs to obtain the credential, and adds the person's credential to the kept AuthConfig.

// credentialSchema is the responseSchema of a question for a credential. textSchema also allows a
// string, for an API key.
const (
	credentialSchema = `{"type":"object","anyOf":[{"required":["oauth2"]},{"required":["apiKey"]},{"required":["http"]},{"required":["serviceAccount"]},{"required":["exchangedAuthCredential"]}]}`
	textSchema       = `{"anyOf":[{"type":"string","minLength":1},` + credentialSchema + `]}`
)

// credentialQuestion returns the question that an adk_request_credential call with these arguments
// asks.
func credentialQuestion(args gjson.Result) calls.Question {
	config := args.Get("authConfig")
	q := calls.Question{
		Kind: credential, Reason: "input_required", Message: cmp.Or(args.Get("message").Str, askCredential),
		Schema: credentialSchema, Metadata: `{"adk":{"authConfig":` + string(withoutSecrets(config)) + `}}`,
	}
	if takesText(config) {
		q.Schema = textSchema
	}
	return q
}

// takesText reports whether the AuthConfig asks for an API key, so that a string can be the answer.
func takesText(config gjson.Result) bool {
	for _, from := range []string{"rawAuthCredential", "exchangedAuthCredential"} {
		if config.Get(from+".authType").Str == "apiKey" {
			return true
		}
	}
	return config.Get("authScheme.type").Str == "apiKey"
}

// withoutSecrets returns the public part of an AuthConfig: its scheme, the type of the credential,
// and where a person logs in.
func withoutSecrets(config gjson.Result) []byte {
	o := []byte{'{'}
	if scheme := config.Get("authScheme"); scheme.Exists() {
		o = kit.AppendMember(o, `"authScheme"`, scheme.Raw)
	}
	if given := config.Get("exchangedAuthCredential"); given.IsObject() {
		public := []byte{'{'}
		if kind := given.Get("authType"); kind.Exists() {
			public = kit.AppendMember(public, `"authType"`, kind.Raw)
		}
		login := []byte{'{'}
		for _, key := range []string{"clientId", "authUri", "state", "redirectUri"} {
			if v := given.Get("oauth2." + key); v.Exists() {
				login = kit.AppendMember(login, `"`+key+`"`, v.Raw)
			}
		}
		if len(login) > 1 {
			public = kit.AppendMember(public, `"oauth2"`, string(append(login, '}')))
		}
		o = kit.AppendMember(o, `"exchangedAuthCredential"`, string(append(public, '}')))
	}
	return append(o, '}')
}

// credentialValue returns the content of the tool message with which ADK gets the credential. The
// answer's payload may be an API key, an AuthCredential or an AuthConfig.
func credentialValue(asked calls.PrivateState, a agui.Answer) (string, error) {
	config := gjson.Get(asked.Args, "authConfig")
	given := gjson.ParseBytes(a.Payload)
	if whole := given.Get("exchangedAuthCredential"); given.IsObject() && whole.Exists() {
		given = whole
	}
	switch {
	case !config.IsObject():
		return "", kit.Unreadable()
	case given.Type == gjson.String && given.Str != "" && takesText(config):
		given = gjson.ParseBytes(agui.MustMarshal(map[string]string{"authType": "apiKey", "apiKey": given.Str}))
	case !given.IsObject():
		return "", agui.Errorf(agui.InvalidPayload, textNotCredential, a.ID)
	}
	credential := mergeOver(config.Get("exchangedAuthCredential"), given)
	if own, said := config.Get("exchangedAuthCredential.oauth2"), given.Get("oauth2"); own.IsObject() && said.IsObject() {
		credential = agui.SetKey(credential, "oauth2", mergeOver(own, said))
	}
	if !gjson.GetBytes(credential, "authType").Exists() {
		if raw := config.Get("rawAuthCredential.authType"); raw.Exists() {
			credential = agui.SetKey(credential, "authType", json.RawMessage(raw.Raw))
		}
	}
	return string(agui.AppendCompact(nil, agui.SetKey([]byte(config.Raw), "exchangedAuthCredential", credential))), nil
}

// mergeOver returns a JSON object with all members of over, and with the members of under whose
// keys are not in over.
func mergeOver(under, over gjson.Result) []byte {
	object, replaced := []byte{'{'}, map[string]bool{}
	over.ForEach(func(key, value gjson.Result) bool {
		replaced[key.Str] = true
		object = kit.AppendMember(object, key.Raw, value.Raw)
		return true
	})
	if under.IsObject() {
		under.ForEach(func(key, value gjson.Result) bool {
			if !replaced[key.Str] {
				object = kit.AppendMember(object, key.Raw, value.Raw)
			}
			return true
		})
	}
	return append(object, '}')
}

// hidesSecrets reports whether a call of the tool name may contain secrets that the client must not
// see.
func (run *run) hidesSecrets(name string) bool {
	return name == requestCredential && !run.Native && !run.Request.Input.Declares(name)
}

// dropCredentials drops the held events of all calls for credentials, and returns the number of
// these calls. A call that became a question is no longer held, so it does not count.
func (run *run) dropCredentials() (dropped int) {
	for _, a := range run.asking {
		if run.hidesSecrets(a.name) && a.mayHoldSecrets() && run.held.Release(a.id) != nil {
			dropped++
		}
	}
	return dropped
}

// mayHoldSecrets reports whether the call's arguments contain an AuthConfig, or are incomplete and
// so may contain one.
func (a *heldCall) mayHoldSecrets() bool {
	return !agui.ValidJSON(a.args) || gjson.GetBytes(a.args, "authConfig").IsObject()
}

// isCredential reports whether the call id asks for a credential. It is a call of this run, or a
// call whose question this run answers.
func (run *run) isCredential(id string) bool {
	if a := run.latest[id]; a != nil && a.name == requestCredential {
		return true
	}
	return run.Answered != nil && slices.ContainsFunc(run.Answered.Questions, func(k calls.PrivateState) bool { return k.Kind == credential.Name && k.Call == id })
}

// tooLarge returns the error for a run with a call for a credential that is too large to be held.
func tooLarge() error {
	return agui.Errorf(agui.PauseTooLarge, textTooLarge, maxHeld)
}

// unreadableError returns the error for a run with a call for a credential that cannot be read.
func unreadableError() error {
	return agui.Errorf(agui.UpstreamStatus, textUnreadable)
}

// withoutCredentials returns a MESSAGES_SNAPSHOT without secrets. It removes the arguments of calls
// for credentials, and the answers to these calls. ADK's session has both, and the arguments
// contain the secrets of the agent's own client.
func withoutCredentials(ev agui.Event) agui.Event {
	if !bytes.Contains(ev.JSON, []byte(requestCredential)) && bytes.IndexByte(ev.JSON, '\\') < 0 {
		return ev
	}
	messages := gjson.GetBytes(ev.JSON, "messages").Array()
	credentials := map[string]bool{} // ids of the calls for credentials
	for _, m := range messages {
		for _, c := range m.Get("toolCalls").Array() {
			if c.Get("function.name").Str == requestCredential {
				credentials[agui.IDText(c.Get("id"))] = true
			}
		}
	}
	if len(credentials) == 0 {
		return ev
	}
	list := make([]json.RawMessage, len(messages))
	for n, m := range messages {
		list[n] = withoutCredential(m, credentials)
	}
	return ev.WithJSON(agui.SetKey(ev.JSON, "messages", agui.List(list)))
}

// withoutCredential returns the message m without the arguments of its calls for credentials. If m
// answers one of the calls in credentials, its content is replaced too.
func withoutCredential(m gjson.Result, credentials map[string]bool) []byte {
	message := []byte(m.Raw)
	made, hides := m.Get("toolCalls").Array(), false
	hidden := make([]json.RawMessage, len(made))
	for n, c := range made {
		hidden[n] = json.RawMessage(c.Raw)
		if c.Get("function.name").Str == requestCredential {
			hides = true
			hidden[n] = agui.SetKey(hidden[n], "function", agui.SetString([]byte(c.Get("function").Raw), "arguments", "{}"))
		}
	}
	if hides {
		message = agui.SetKey(message, "toolCalls", agui.List(hidden))
	}
	// The calls may include one whose id is "". A message without a toolCallId answers that call
	// only if it is a tool message.
	if id := agui.IDText(m.Get("toolCallId")); credentials[id] && (id != "" || m.Get("role").Str == "tool") {
		message = agui.SetString(message, "content", hiddenCredential)
	}
	return message
}

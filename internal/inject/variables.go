package inject

import (
	"slices"
	"strings"
)

// prefix is the prefix of all variables of Holdpoint.
const prefix = "HOLDPOINT_"

// reservedVariables are the variables that the injector sets itself, each with the reason why an
// annotation cannot set it.
var reservedVariables = map[string]string{
	"UPSTREAM":      textFromAgent,
	"LISTEN":        textFixedPort,
	"ADMIN_LISTEN":  textProbesPort,
	"DRAIN_DELAY":   textFromGracePeriod,
	"DRAIN_TIMEOUT": textFromGracePeriod,
	"MEMORY":        textFromMemory,
}

// allowedVariables are the variables that an annotation may set. A new variable of Holdpoint is not
// allowed until it is added to this list. No variable in the list names a file, contains a secret,
// or opens a listener.
var allowedVariables = strings.Fields(`
	NAME CLIENT ANSWERS SESSIONS DIALECT CORS_ORIGINS PRESERVE_HOST UPSTREAM_KEEP_ALIVE UPSTREAM_HTTP2
	H2C MAX_HEADER_BYTES HEADER_TIMEOUT KEEP_ALIVE MAX_CONNECTIONS ADDRESS_CONNECTIONS
	STORE STORE_REPLICAS STORE_ENTRIES STORE_BYTES STORE_RECORD_BYTES PAUSE_RETENTION REPLAY_TTL STORE_OUTAGE
	INTERRUPT_TTL MAX_REQUEST_BYTES BODY_BYTES ADDRESS_SHARE MAX_FRAME_BYTES TRANSCRIPT_BYTES STREAM_IDLE_TIMEOUT
	RESUME_IDLE_GRACE HEARTBEAT WRITE_TIMEOUT HEADER_UNDERSCORES ON_DISCONNECT
	TENANT_HEADER PRINCIPAL_HEADER TRUSTED_PEERS JWT_ISSUER JWT_AUDIENCE JWT_JWKS_URL JWT_CLAIM THREAD_NAMESPACE
	SHOW_PRINCIPAL DESK_LISTEN DESK_CARRY_WITHIN DESK_CARRY DESK_TOOLS
	LOG_LEVEL LOG_FORMAT WEBHOOK_EVENTS WEBHOOK_CONTENT WEBHOOK_PRIVATE
	TOOLS CANCEL TOOL_CALL_YES TOOL_CALL_NO PHRASES_ASK PHRASES_YES PHRASES_NO SUPERAGENT_AGENT_ID SUPERAGENT_ALLOW
	LANGGRAPH_SERVER_ASSISTANT LANGGRAPH_SERVER_ALLOW`)

// secretVariables are the variables that an annotation may take from a Secret. The sidecar reads
// them as files.
var secretVariables = strings.Fields(`STORE_PASSWORD STORE_KEYS PRINCIPAL_KEY WEBHOOK_URL WEBHOOK_SECRET UPSTREAM_HEADERS`)

// exampleSecrets are values of secrets that Holdpoint accepts. The injector never reads the real
// values, so it uses these when it checks the other variables.
var exampleSecrets = map[string]string{
	"STORE_PASSWORD": "example",
	"STORE_KEYS":     "example:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
	"PRINCIPAL_KEY":  strings.Repeat("example-", 6),
	"WEBHOOK_URL":    "https://hooks.example.com/",
	"WEBHOOK_SECRET": "whsec_" + strings.Repeat("example0", 6),
}

// AllowedVariables returns the variables that an annotation may set, without HOLDPOINT_.
func AllowedVariables() []string { return slices.Clone(allowedVariables) }

// SecretVariables returns the variables that an annotation may take from a Secret.
func SecretVariables() []string { return slices.Clone(secretVariables) }

// ExampleSecret returns the value that replaces a secret when the variables are checked, or "" if
// there is none. name is the name of the secret's variable without HOLDPOINT_.
func ExampleSecret(name string) string { return exampleSecrets[name] }

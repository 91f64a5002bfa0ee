package desk

// The texts of this package that an operator reads: errors in the variables of the desk, and log
// lines of the levels WARN and ERROR. An error says what is wrong, what is wanted, and gives an
// example. The comment of a log line says what it means and what to do; docs/warnings.md is made
// from these comments.

// Errors in the variables of the desk.
const (
	textNoAuthNone     = "callers must say who they are: in a pod the agent, and each tool that it runs, reaches every address of the pod. Want token, header or jwt"
	textAuth           = "want token, header or jwt"
	textPageAddress    = "not an address, want something like https://desk.example.com"
	textPageUser       = "an address has no user and password here, because the webhook sends it to others: want something like https://desk.example.com"
	textPageQuery      = "want an address without ? and #, such as https://desk.example.com: a link to a question adds them"
	textNoDesk         = "there is no desk: set HOLDPOINT_DESK_LISTEN as well, such as :7082, or leave this out"
	textListenForms    = "%w, or off, or elsewhere"
	textUnusedWithAuth = "HOLDPOINT_DESK_AUTH=%s does not use it: leave it out"
	textNoPolicy       = "HOLDPOINT_POLICY is not set, and with HOLDPOINT_DESK_AUTH=%s every caller with a name would have all rights: want a file that says who has which, such as /etc/holdpoint/policy.yaml (docs/desk.md#rights)"
	textAllPeers       = "it has all IPv4 or all IPv6 addresses, so anybody who reaches the desk could name himself as he likes: want the network of the proxy, such as 10.0.0.0/8"
	textPeersOfSocket  = "a caller of the unix socket of HOLDPOINT_DESK_LISTEN has no address, and the permissions of the socket say who may connect: leave this out"
	textNoPrincipal    = "HOLDPOINT_DESK_PRINCIPAL is not set, want the header in which the proxy names the caller, such as X-Forwarded-User"
	textSameHeader     = "it is the same header as HOLDPOINT_DESK_PRINCIPAL: want another one, such as X-Forwarded-Groups"
	textForJWT         = "HOLDPOINT_%s is not set, and HOLDPOINT_DESK_AUTH=jwt needs it, want %s"
	textWantIssuer     = "the issuer (iss) of the tokens, such as https://id.example.com"
	textWantAudience   = "the audience (aud) of tokens for the desk alone, such as holdpoint-desk"
	textWantKeys       = "the address of the issuer's keys, such as https://id.example.com/keys"
	textNoToken        = "HOLDPOINT_DESK_TOKEN_FILE is not set, and the desk of HOLDPOINT_DESK_LISTEN admits nobody without a token: want a file with one, such as openssl rand -hex 32 makes"
	textNoTerminal     = "config: HOLDPOINT_DESK_TOKEN_FILE is not set, and the desk of HOLDPOINT_DESK_LISTEN admits nobody without a token, on loopback too. Holdpoint makes one at start only if a terminal can show it to a person: want a file with one, such as openssl rand -hex 32 makes"
)

// Log lines.
const (
	// The listener of the desk failed, and the desk cannot be reached until Holdpoint is started
	// again. Runs are not affected. The line has the reason.
	logListenerEnded = "the desk's listener has ended"

	// HOLDPOINT_POLICY is not set, so everybody with a token of the desk may see and decide all
	// questions of all agents. If that is not intended, write a policy (docs/desk.md#rights).
	logNoPolicy = "each caller of the desk has all rights: there is no policy"

	// The desk believes a header that names the caller, from loopback. In a pod, the agent and each
	// tool that it runs share that address, and could approve their own calls. Put the desk on a
	// unix socket that only the proxy reaches, or use HOLDPOINT_DESK_AUTH=jwt.
	logLocalDecides = "programs of this machine may name the caller of the desk: in a pod the agent and its tools can too, and answer their own questions. A unix socket that they do not reach keeps them out, and so do tokens (HOLDPOINT_DESK_AUTH=jwt)"

	// HOLDPOINT_DESK_JWT_JWKS_URL begins with http://, so a program on the network path can replace
	// the keys with which tokens of the desk's callers are checked. Use https://.
	logPlainKeys = "the keys of the desk's issuer come over plain HTTP: whoever can change that traffic can decide as anybody"
)

// What is printed when Holdpoint makes the token of the desk itself.
const textDeskAddress = "\nThe desk is at %s://%s/\nThe token to sign in with, until Holdpoint ends: %s\n\n"

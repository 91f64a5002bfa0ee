package principal

// Log lines for the operator. The comments above them are the table of docs/warnings.md.
const (
	// The issuer publishes keys that Holdpoint cannot use, and requests with tokens signed by them
	// are refused. skipped has the reason for each. This is normal for keys that are not for
	// signatures; else ask the issuer for RSA keys of at least 2048 bits, ECDSA or Ed25519.
	logKeysSkipped = "keys of the issuer's set are skipped: tokens signed with them are refused"

	// The address of the issuer's keys did not answer with a set of keys. The keys of the last
	// fetch stay in use, so most users notice nothing; after a start without any key every request
	// with a token is refused. Look at err and at the address in the named variable.
	logKeysNotFetched = "the keys of the issuer could not be fetched: tokens signed with an unknown key are refused"
)

// These are the reasons of refusals, which the client reads. They contain no part of a token.
const (
	textNotTrusted     = "the header %s is not accepted from this address, which is not among the trusted peers"
	textHeaderMissing  = "the header %s is missing"
	textHeaderTwice    = "the request has the header %s more than once"
	textHeaderTooLong  = "the header %s is too long"
	textTooManyValues  = "the header %s has too many values"
	textNoToken        = "a bearer token is missing"
	textNotBearer      = "the header Authorization does not contain a bearer token"
	textNoKeys         = "the keys of the issuer are not known yet: try again later"
	textTokenForm      = "the token is not a signed JWT, or its signature algorithm is not accepted"
	textUnknownKey     = "the token is signed with a key that the issuer does not publish"
	textWrongSignature = "the signature of the token is wrong"
	textOtherIssuer    = "the token is from another issuer"
	textOtherAudience  = "the token is for another audience"
	textNoExpiry       = "the token has no expiry time (exp)"
	textTokenExpired   = "the token has expired"
	textTokenEarly     = "the token is not valid yet"
	textNoClaim        = "the token does not name its user"
	textGroupsForm     = "the groups of the token are not a list of texts"
)

// These are the errors of the settings.
const (
	textKeySpace       = "key %d contains white space"
	textKeyShort       = "key %d has %d characters, want at least %d, such as openssl rand -hex 32 makes"
	textKeyTwice       = "key %d is a repetition of another"
	textNoKey          = "no key, want one of at least 32 characters, such as openssl rand -hex 32 makes"
	textNoNetwork      = "no network, want one such as 10.0.0.0/8"
	textNotNetwork     = "%q is not a network, want one such as 10.0.0.0/8, fd00::/8 or 192.0.2.1"
	textMappedNetwork  = "%q contains all IPv4 addresses and others, want the IPv4 network itself"
	textHostBits       = "%q has bits after its network, want %s"
	textNotAddress     = "not an address, want something like https://id.example.com/jwks.json"
	textUserInURL      = "user and password do not belong here: the keys of an issuer are public"
	textNoPeers        = "HOLDPOINT_TRUSTED_PEERS is not set, and no header is believed without it, want the networks of the proxy that sets them, such as 10.0.0.0/8"
	textSameHeader     = "it is HOLDPOINT_PRINCIPAL_HEADER too, want another one"
	textTwoPrincipals  = "HOLDPOINT_JWT_ISSUER is set too, and a request has one principal: leave one of them out"
	textSetTogether    = "%s: not set, and %s must be set together"
	textNoPrincipalKey = "HOLDPOINT_PRINCIPAL_KEY is not set, and threads of principals need it: records name their owner by a hash under this key (or HOLDPOINT_PRINCIPAL_KEY_FILE). Make one with openssl rand -hex 32"
	textNotHeader      = "not the name of a header, want one such as X-Forwarded-User"
	textReserved       = "it cannot name the user: "
	textSecretHeader   = "it contains a secret that changes, and not a name: want a header that your proxy sets, or HOLDPOINT_JWT_ISSUER"
	textForgeable      = "its sender can write anything there"
)

// What is wrong with the issuer's keys. An operator reads it in the log, and when Holdpoint
// starts.
const (
	textKeysAddress        = "the address of the keys cannot be used"
	textKeysTooLarge       = "the set has more than %d bytes"
	textNotKeys            = "the answer is not a set of keys"
	textTooManyKeys        = "the set has more than %d keys"
	textNoKeyForSignatures = "the set has no public key for signatures"
	textKeyUnread          = "it cannot be read: %s"
	textKeyUse             = "its use is %q and not sig"
	textKeyNotValid        = "it is not valid"
	textKeyTooShort        = "it has %d bits, fewer than %d"
	textKeyNotPublic       = "it is not a public key of RSA, ECDSA or Ed25519"
)

// What is wrong with a variable that needs a principal.
const (
	textNoPrincipal        = "there is no principal, set HOLDPOINT_PRINCIPAL_HEADER or HOLDPOINT_JWT_ISSUER"
	textNoPrincipalOrLeave = "there is no principal, set HOLDPOINT_PRINCIPAL_HEADER or HOLDPOINT_JWT_ISSUER, or leave it out"
)

package admin

// Log lines for the operator. The comments above them are the table of docs/warnings.md.
const (
	// The store answered before and does not answer now. Runs that need it are refused with
	// STORE_UNAVAILABLE, or continue without it if HOLDPOINT_STORE_OUTAGE allows that. The replica
	// stays ready: restore the store, which err describes.
	logStoreLost = "the store does not answer; /readyz reports it and stays ready"

	// The default address of the admin listener is in use, usually by another Holdpoint on this
	// machine. Runs are served. Set HOLDPOINT_ADMIN_LISTEN to a free address if you need probes,
	// metrics, holdpoint drain or holdpoint reload, or to off.
	logNoListener = "there is no admin listener, so probes and holdpoint drain reach nothing or another process: set HOLDPOINT_ADMIN_LISTEN to an address of its own, or to off"

	// The admin listener stopped with an error, so probes, metrics and drain no longer answer.
	// Restart the process, and look at err.
	logListenerEnded = "the admin listener has ended"
)

// These are the responses of the listener to the operator, and the errors of its settings.
const (
	textDraining        = "draining: new runs should go to another replica"
	textStoreNotReached = "not reached yet; the log has the error"
	textStoreLost       = "lost since %s; the log has the error. HOLDPOINT_STORE_OUTAGE decides which runs get STORE_UNAVAILABLE"
	textReloadFailed    = "not all files were read again: %d are wrong, and what was read from them before stays in effect. The log has the errors\n"
	textLocalOnly       = " is accepted from this machine only, and not through a proxy\n"
	textNoBrowser       = " is not accepted from a browser\n"
	textProfilesOff     = "profiles are on the admin listener, and HOLDPOINT_ADMIN_LISTEN is off"
	textListenerOff     = "HOLDPOINT_ADMIN_LISTEN is off, so there is no listener to ask"
	textOrOff           = "%w, or off"
	textNoFixedPort     = "its port changes at each start, want a fixed one"
)

// The answers of the probes and of the list of agents.
const (
	textListenerTitle = "Holdpoint's admin listener\n\n"
	textNotStarted    = "not started\n"
	textNotReady      = "not ready\n"
	stateNotReady     = "not ready"
	stateNotDraining  = "ok, not draining"
	stateNotYet       = "not yet"
	stateAccepts      = "accepts connections"
	stateAcceptsNone  = "accepts no connections"
)

package injector

// Log lines for the operator. The comments above them are the table of docs/warnings.md.
const (
	// The injector could not read or renew its certificate, or enter its authority into the
	// MutatingWebhookConfiguration. The certificate that it serves stays in use, and it tries again
	// every few seconds. err names the object: look at the service account's permissions and at the
	// Secret.
	logCertificate = "the injector's certificate could not be checked or renewed: the current one stays in use"

	// A request to the webhook is not an admission review of a pod that the injector can read, and
	// was answered with 400. Something other than an API server calls the webhook, or the
	// MutatingWebhookConfiguration asks for another version than v1.
	logNotReview = "not a review"

	// A pod got its sidecar, but something in it needs attention: warning has the text that the
	// creator of the pod gets as well. It is logged because a controller that creates pods shows
	// warnings to nobody.
	logPodWarning = "a pod with a warning"

	// A pod asks for a sidecar and cannot have one, so it was not created. reason has the text that
	// the creator of the pod gets: correct the pod or its annotations.
	logPodRefused = "a pod was refused"
)

// Responses of the webhook, and errors of the settings and of the API server.
const (
	textNotReady       = "not ready: the injector is about to end, or the API server does not have its certificate yet (the log has the reason)"
	textWantReview     = "want a review as application/json"
	textReviewTooLarge = "a review has at most %d bytes"
	textReviewUnread   = "the review could not be read"
	textNoAuthority    = "the Secret has no certificate of an authority"
	textChanged        = "another replica or user has changed it"
	textNotPod         = "this is not a pod (KUBERNETES_SERVICE_HOST is not set), and the injector needs the API server to make a certificate: set HOLDPOINT_INJECT_CERT_FILE and HOLDPOINT_INJECT_KEY_FILE"
	textNoAccountToken = "the pod has no token of its service account: %w"
	textWrongAuthority = "the authority of the API server is not a certificate in PEM form"
	textWrongAnswer    = "%s %s: the API server's answer is not JSON of at most %d bytes (status %d)"
	textTooOld         = "this is Kubernetes %s, which does not find a port of a native sidecar by its name: the injector needs 1.%d"
	textNoWebhook      = "it has no webhook whose clientConfig.service is %s in %s"
	textNoImage        = "HOLDPOINT_INJECT_IMAGE is not set, want the image of the sidecars, which is the injector's own"
	textUnixListen     = "the API server connects over the network, want host:port"
	textNotService     = "want a name of a Service"
)

// What is wrong with a variable of the injector.
const textAtLeast = "want at least %s"

package certificates

// What is wrong with a certificate. An operator reads it when Holdpoint starts, and from holdpoint
// check.
const (
	textNoCertificate     = "%s: no certificate in PEM form"
	textCertificateAndKey = "%s%s and %s%s: a certificate and its key are set together"
)

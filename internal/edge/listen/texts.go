package listen

// What is wrong with an address to listen on. An operator reads it when Holdpoint starts, and from
// holdpoint check.
const (
	textWholePath        = "want the socket's whole path behind three slashes, such as unix:///run/holdpoint/run.sock"
	textPathTooLong      = "the path of a socket has at most %d bytes"
	textOnlyMode         = "want nothing but a mode behind the ?, such as mode=0660"
	textHostPort         = "want host:port, such as :%d"
	textHostPortOrSocket = "want host:port, such as :7080 or 127.0.0.1:7080, or unix:///run/holdpoint/run.sock"
	textPortRange        = "port %q is out of range, want 0 to 65535"
	textSocketTaken      = "listen unix %s: another process listens there"
)

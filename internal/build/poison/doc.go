// Package poison overwrites bytes that must not be read any more, in builds with the tag poison. In
// other builds it does nothing.
//
// Many buffers of Holdpoint are reused: an event is valid only while it is translated, and a piece
// of a stream only until the next piece is read. Code that keeps such bytes for longer needs a
// copy. If the copy is missing, one user may see another user's bytes, but only if the buffer is
// reused at the wrong moment. With the tag poison the bytes are wrong at once, so that tests fail
// (make poison).
package poison

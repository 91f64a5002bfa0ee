// Package poison overwrites bytes that must not be read any more, in builds with the tag poison. In
// other builds it does nothing.
//
// Many buffers of Holdpoint are used again: an event is valid while it is translated, a piece of a
// stream until the next one is read. Code that keeps such bytes for longer needs a copy. If the
// copy is missing, one user may see another's bytes, but only if the buffer is used again at the
// wrong moment. With the tag the bytes are wrong at once, so that the tests fail (make poison).
package poison

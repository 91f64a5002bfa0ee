// Package poison overwrites bytes that nobody may read any more, in builds with the tag poison. In
// all others it does nothing.
//
// Much of what Holdpoint handles lies in buffers that are used again: an event is valid while it is
// translated, a piece of a stream until the next one. Who keeps more needs a copy. If one is
// missing, a user may be shown what is another's, and only if the buffer's next user comes at the
// wrong moment. Under the tag the bytes are wrong at once, so that the tests see it (make poison).
//
// It knows nothing of what the bytes mean.
package poison

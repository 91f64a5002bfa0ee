package sse

// A frame that is too large. An operator reads it in the log.
const textFrameTooLarge = "sse: frame exceeds %d bytes (HOLDPOINT_MAX_FRAME_BYTES)"

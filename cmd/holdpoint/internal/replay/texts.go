package replay

// What replay prints of the record.
const (
	recordNotAsked    = "  record       none: nothing was asked of the store"
	recordUnread      = "the record: %w"
	recordNone        = "  record       none: the thread waits for nothing"
	recordNothingOpen = "  record       nothing is open"
	recordAskedBy     = "  record       %s, asked by %s"
	recordQuestion    = "               question %s, the backend's own id %q: %s"
	recordEnded       = "               an earlier question ended: %s"
	recordToAnswer    = "  to answer    the client's next request has"
	recordToRefuse    = "               or, to refuse,"
	payloadAny        = `"any value"`
	payloadOfSchema   = `"a value that fits the responseSchema"`
)

// What replay prints of a turn and its frames.
const (
	traceDialect       = "the stream is that of %s from here on"
	traceWhichAsked    = "%s, which asked,"
	traceStartedAnew   = "  (Holdpoint was started anew, with the same store)"
	tracePassed        = "  (%v have passed)"
	traceClientSends   = "client sends"
	traceBackendGets   = "backend gets request %d, %s %s"
	traceRequestAsCame = "  %s: the client's request as it came"
	traceRequestWhy    = "               why: %s makes it of the client's request: %s"
	traceAsCame        = "  client       as it came"
	traceNothingYet    = "  client       nothing yet: Holdpoint waits with it, or leaves it out"
	traceNoEvent       = "has no event"
	traceWaited        = "is frame %d as it came, which waited until here"
	traceChanged       = "is frame %d, changed: %s"
	traceMade          = "is made by Holdpoint"
	traceClientGets    = "client gets HTTP %d"
	traceLeftOut       = "  left out     frames of the backend that did not reach the client in any form: %s"
	traceNotAskedFor   = "  left out     recorded answers of the backend that Holdpoint did not ask for: %d"
	traceRun           = "  run          outcome %s, dialect %s; frames: %d passed, %d rewritten, %d dropped, %d made"
	traceOtherForm     = "another form"
	traceSameValues    = "the same values, written anew"
	traceNoAnswer      = "no answer to this request is recorded, so the backend is not there"
	traceNotRecorded   = "no answer is recorded"
	traceStatus        = "the backend answers HTTP %d"
	traceBreaksOff     = "the connection breaks off here"
)

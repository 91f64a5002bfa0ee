package words

// These are the results that Holdpoint makes for calls. They are needed because a .NET client makes
// up a result if an answered call got none, and many backends send none.
const (
	Approved = "Holdpoint: this was approved and handed on. The agent told no result of it."
	Denied   = "Holdpoint: this was not approved. The agent told no result of it."
	Answered = "Holdpoint: the answer was handed on. The agent told no result of it."
	InDoubt  = "Holdpoint: the answer was handed on, and it is not known whether this was done."
)

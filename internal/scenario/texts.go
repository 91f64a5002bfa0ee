package scenario

// What is wrong with a scenario. Who writes one reads it in a test, and from holdpoint replay.
const (
	textEscape        = "line %d: want %q, not %q: a line of a part that begins so has %s before it"
	textPartTwice     = "line %d: %q is there twice"
	textLastLine      = "the last line does not end: say so with the line %q"
	textFollowsNoLine = "%q follows no line that could be without an end"
	textEscapedInVain = "the line %.40q needs no %s before it"
	textNotOneFile    = "%s: a scenario is one file, %s"
	textNoScenario    = "no scenario in %s"
	textEnv           = "env: want NAME=value, not %q"
	textCovers        = "covers: want some of %v, not %q"
	textUnknownKey    = "unknown key in line %q"
	textNoTitle       = "title and source are missing: what it shows, and where its bytes come from"
	textWait          = "wait: want turn=duration, not %q"
	textNoPart        = "no part %s"
	textOfNoTurn      = "%s belongs to no turn"
	textPartOrder     = "%s must stand before the part before it: parts stand in the order in which things happen"
	textPartMissing   = "%s: %s names the part %q, which is missing"
	textFileOfNoTurn  = "%s: %s belongs to no turn"
)

// unended is the last line of a part whose data do not end with a line end. A reader of the file
// sees it.
const unended = escape + " no newline at the end\n"

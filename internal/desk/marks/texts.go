package marks

// textAndOthers is the name of a mark with several kinds of characters, which a reader of the desk
// sees. It has the name of the first.
const textAndOthers = "%s and others"

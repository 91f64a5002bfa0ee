package toolcall

// The questions that a person reads if the agent sent no text.
const askCallSaying = "The agent asks to call the tool %s: %s"

// What a backend of no known framework is called in texts for people.
const textBackend = "the backend"

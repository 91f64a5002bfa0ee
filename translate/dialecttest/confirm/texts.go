package confirm

// Texts for people. They are the arguments of Errorf.
const textWrongPayload = `payload for interrupt %q is no {"approved": true or false}`

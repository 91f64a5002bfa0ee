package confirm

// The texts of errors that a client reads in RUN_ERROR. They are formats for Errorf.
const textWrongPayload = `payload for interrupt %q is no {"approved": true or false}`

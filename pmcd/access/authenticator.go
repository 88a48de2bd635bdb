package access

// An Authenticator authenticates clients by the mechanisms of SASL. It is called
// by several goroutines at a time. [NewAccounts] makes one.
type Authenticator interface {
	// Mechanisms returns the names from which clients can choose.
	Mechanisms() []string

	// Begin starts the exchange with a client that sent first: the name of
	// a mechanism, and after a NUL the initial response if there is one.
	Begin(first []byte) (Exchange, error)
}

// An Exchange with one client continues until Done, or an error, whose pcp.Code
// the client gets.
type Exchange interface {
	// Start returns the first challenge and Step the challenge after a response.
	// It is sent unless Done returns true.
	Start() ([]byte, error)
	Step(response []byte) ([]byte, error)

	Done() bool
	Mechanism() string // which the client chose
	User() string      // the user that the client claims, proven when Done
}

package sasl

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/xdg-go/scram"
)

// Accounts are the users of a server. An answer about an unknown name should take
// as long as one about an account, and look like it.
type Accounts interface {
	// Verifier returns the verifier of a password by a SCRAM mechanism; for an
	// unknown name, a verifier that no password satisfies.
	Verifier(mechanism, user string) (Verifier, error)

	// CheckPassword returns nil if user is an account and has that password,
	// else an error that wraps ErrAuth.
	CheckPassword(user, password string) error
}

// A Server authenticates a client.
type Server struct {
	accounts  Accounts
	mechanism string
	conv      *scram.ServerConversation // of SCRAM
	initial   []byte
	started   bool
	steps     int
	user      string // that the client claims to be
	done      bool
}

// NewServer begins an exchange with a client that sent first.
func NewServer(offered []string, accounts Accounts, first []byte) (*Server, error) {
	if len(first) >= MaxMessage {
		return nil, fmt.Errorf("message of %d bytes: %w", len(first), ErrProtocol)
	}
	name, initial, has := bytes.Cut(first, []byte{0})
	s := &Server{accounts: accounts, mechanism: strings.ToUpper(string(name))}
	if !slices.Contains(offered, s.mechanism) {
		return nil, fmt.Errorf("method %.20q is not offered: %w", name, ErrNoMech)
	}
	if has {
		s.initial = bytes.Clone(initial)
	}
	if hash, ok := scramHash(s.mechanism); ok {
		server, err := hash.NewServer(s.lookup)
		if err != nil {
			return nil, err
		}
		s.conv = server.NewConversation()
	}
	return s, nil
}

// lookup is asked by a SCRAM conversation.
func (s *Server) lookup(user string) (scram.StoredCredentials, error) {
	s.user = user
	v, err := s.accounts.Verifier(s.mechanism, user)
	return v.stored(), err
}

// Mechanism is what the client chose.
func (s *Server) Mechanism() string { return s.mechanism }

// User is the user that the client claims to be, which is proven once Done
// returns true.
func (s *Server) User() string { return s.user }

// Done reports whether the client has authenticated.
func (s *Server) Done() bool { return s.done }

// Start returns the first challenge. It must not be sent if Done then returns
// true.
func (s *Server) Start() ([]byte, error) {
	if s.started {
		return nil, ErrProtocol
	}
	s.started = true
	switch {
	case s.mechanism == Login && len(s.initial) == 0:
		return []byte("Username:"), nil
	case s.mechanism == Login:
		return s.Step(s.initial)
	case len(s.initial) == 0:
		return nil, fmt.Errorf("no initial response: %w", ErrProtocol)
	}
	return s.Step(s.initial)
}

// Step takes a response and returns the next challenge.
func (s *Server) Step(response []byte) ([]byte, error) {
	if s.done || !s.started || len(response) >= MaxMessage {
		return nil, fmt.Errorf("response of %d bytes that was not expected: %w", len(response), ErrProtocol)
	}
	s.steps++
	switch {
	case s.conv != nil:
		return s.scramStep(response)
	case s.mechanism == Plain:
		return nil, s.plain(string(response))
	case s.steps == 1:
		s.user = string(response)
		return []byte("Password:"), nil
	}
	return nil, s.check(string(response))
}

func (s *Server) scramStep(response []byte) ([]byte, error) {
	if s.conv.Valid() {
		// The client agrees that we know its account.
		if len(response) != 0 {
			return nil, fmt.Errorf("response of %d bytes after the end: %w", len(response), ErrProtocol)
		}
		s.done = true
		return nil, nil
	}
	if len(response) == 0 { // an empty one has no meaning before
		return nil, fmt.Errorf("empty response: %w", ErrProtocol)
	}
	challenge, err := s.conv.Step(string(response))
	switch {
	case err != nil && challenge == scram.ErrInvalidProof:
		return nil, fmt.Errorf("wrong password or no such account: %w", ErrAuth)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrAuth, err)
	}
	if id := s.conv.AuthzID(); id != "" && id != s.user {
		return nil, fmt.Errorf("on behalf of %.40q: %w", id, ErrAuthz)
	}
	return []byte(challenge), nil
}

// plain handles the one response of PLAIN: the authorization name, the user name,
// and the password.
func (s *Server) plain(response string) error {
	parts := strings.Split(response, "\x00")
	if len(parts) != 3 {
		return fmt.Errorf("response in %d parts: %w", len(parts), ErrProtocol)
	}
	s.user = parts[1]
	if err := s.check(parts[2]); err != nil {
		return err
	}
	if parts[0] != "" && parts[0] != s.user {
		s.done = false
		return fmt.Errorf("on behalf of %.40q: %w", parts[0], ErrAuthz)
	}
	return nil
}

func (s *Server) check(password string) error {
	if err := s.accounts.CheckPassword(s.user, password); err != nil {
		return err
	}
	s.done = true
	return nil
}

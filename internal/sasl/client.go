package sasl

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/xdg-go/scram"
)

// A Client authenticates a user to a server.
type Client struct {
	mechanism  string
	user, pass string
	conv       *scram.ClientConversation // of SCRAM
	first      string
	steps      int
	done       bool
}

// NewClient begins an exchange by the given mechanism.
func NewClient(mechanism, user, password string) (*Client, error) {
	c := &Client{mechanism: mechanism, user: user, pass: password}
	if user == "" || strings.ContainsRune(user, 0) || strings.ContainsRune(password, 0) {
		return nil, fmt.Errorf("no user name, or one with a NUL: %w", ErrParam)
	}
	hash, isScram := scramHash(mechanism)
	switch {
	case isScram:
		sc, err := newScramClient(hash, user, password)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrParam, err)
		}
		c.conv = sc.NewConversation()
		if c.first, err = c.conv.Step(""); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrParam, err)
		}
	case mechanism == Plain:
		c.first = "\x00" + user + "\x00" + password
		c.done = true
	case mechanism == Login:
	default:
		return nil, fmt.Errorf("method %q is not supported: %w", mechanism, ErrNoMech)
	}
	if n := len(mechanism) + 1 + len(c.first); n >= MaxMessage {
		return nil, fmt.Errorf("name and password of %d bytes: %w", n, ErrParam)
	}
	return c, nil
}

// newScramClient prepares name and password by RFC 4013, or, if that has no
// form for them, takes them as they are.
func newScramClient(hash scram.HashGeneratorFcn, user, password string) (*scram.Client, error) {
	if c, err := hash.NewClient(user, password, ""); err == nil {
		return c, nil
	}
	return hash.NewClientUnprepped(user, password, "")
}

// Start returns the first message.
func (c *Client) Start() []byte {
	return append([]byte(c.mechanism), "\x00"+c.first...)
}

// Done reports whether no challenge is awaited any more.
func (c *Client) Done() bool { return c.done }

// Step answers a challenge.
func (c *Client) Step(challenge []byte) ([]byte, error) {
	if c.done || len(challenge) >= MaxMessage {
		return nil, fmt.Errorf("challenge of %d bytes that was not expected: %w", len(challenge), ErrProtocol)
	}
	c.steps++
	if c.conv != nil {
		return c.scramStep(string(challenge))
	}
	if c.steps == 1 {
		return []byte(c.user), nil
	}
	c.done = true
	return []byte(c.pass), nil
}

func (c *Client) scramStep(challenge string) ([]byte, error) {
	if c.steps == 1 {
		if err := checkIterations(challenge); err != nil {
			return nil, err
		}
	}
	answer, err := c.conv.Step(challenge)
	switch {
	case err != nil && c.steps == 1:
		return nil, fmt.Errorf("%w: %w", ErrProtocol, err)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrServer, err)
	case c.conv.Done():
		if !c.conv.Valid() {
			return nil, ErrServer
		}
		c.done = true
		return nil, nil
	}
	return []byte(answer), nil
}

// checkIterations refuses the first message of a server that would have us
// hash for minutes.
func checkIterations(challenge string) error {
	for field := range strings.SplitSeq(challenge, ",") {
		if text, ok := strings.CutPrefix(field, "i="); ok {
			n, err := strconv.Atoi(text)
			if err != nil || n < minIterations || n > maxIterations {
				return fmt.Errorf("server wants %.20q iterations: %w", text, ErrProtocol)
			}
		}
	}
	return nil
}

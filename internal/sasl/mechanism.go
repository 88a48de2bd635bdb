package sasl

import (
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"hash"
	"slices"
	"strings"

	"github.com/xdg-go/scram"

	"github.com/go-pcp/pcp"
)

// Mechanisms.
const (
	Plain       = "PLAIN"
	Login       = "LOGIN"
	ScramSHA1   = "SCRAM-SHA-1"
	ScramSHA256 = "SCRAM-SHA-256"
	ScramSHA512 = "SCRAM-SHA-512"
)

// MaxMessage is the length in bytes that a message stays below (LIMIT_AUTH_PDU).
const MaxMessage = 2048

// maxIterations bounds how often a password is hashed at a peer's or a file's
// wish; more would be a way to keep a processor busy.
const maxIterations = 1_000_000

// minIterations is the minimum of RFC 7677.
const minIterations = 4096

// Statuses, those of the C library (SASL_*) below the last of PCP.
const (
	ErrNoMech   = pcp.ErrNYI - 4  // no mechanism that both have
	ErrProtocol = pcp.ErrNYI - 5  // a message that cannot be
	ErrParam    = pcp.ErrNYI - 7  // no user name, or an invalid one
	ErrServer   = pcp.ErrNYI - 10 // the server did not prove that it knows the account
	ErrAuth     = pcp.ErrNYI - 13 // not an account, or not its password
	ErrAuthz    = pcp.ErrNYI - 14 // on behalf of somebody else
)

// Known are the mechanisms that this package has, the one to prefer first.
func Known() []string { return []string{ScramSHA512, ScramSHA256, ScramSHA1, Plain, Login} }

// IsKnown reports whether this package has a mechanism.
func IsKnown(name string) bool { return slices.Contains(Known(), name) }

// scramHash returns the hash function of a SCRAM mechanism.
func scramHash(mechanism string) (scram.HashGeneratorFcn, bool) {
	var f func() hash.Hash
	switch mechanism {
	case ScramSHA1:
		f = sha1.New
	case ScramSHA256:
		f = sha256.New
	case ScramSHA512:
		f = sha512.New
	}
	return f, f != nil
}

// Choose picks the mechanism to use of those that a server offers, in a list
// with spaces or commas between: wanted if that is not "", else the best one.
// As with the C library, wanted need not be offered.
func Choose(offered, wanted string) (string, error) {
	if wanted != "" {
		for _, name := range fields(wanted) {
			if IsKnown(name) {
				return name, nil
			}
		}
		return "", fmt.Errorf("method %q is not supported: %w", wanted, ErrNoMech)
	}
	list := fields(offered)
	for _, name := range Known() {
		if slices.Contains(list, name) {
			return name, nil
		}
	}
	return "", fmt.Errorf("none of the methods %q is supported: %w", offered, ErrNoMech)
}

// fields splits a list of mechanisms, which may be written in either case.
func fields(list string) []string {
	return strings.FieldsFunc(strings.ToUpper(list), func(r rune) bool { return r == ' ' || r == ',' || r == '\t' })
}

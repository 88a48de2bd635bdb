package sasl

import (
	"crypto/hmac"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/xdg-go/scram"
)

// A Verifier can check that somebody knows a password without revealing it: the
// salted and hashed form of RFC 5803.
type Verifier struct {
	Mechanism  string // a SCRAM mechanism
	Iterations int
	Salt       []byte
	StoredKey  []byte
	ServerKey  []byte
}

// saltSize is the length of the salts that are made here.
const saltSize = 16

// DefaultIterations is how often passwords are hashed. The C library's clients
// (libsasl2) refuse more than 65536.
const DefaultIterations = 15000

// NewVerifier makes the verifier of a password with a new salt.
func NewVerifier(mechanism, password string, iterations int) (Verifier, error) {
	salt := make([]byte, saltSize)
	rand.Read(salt)
	return VerifierFor(mechanism, password, salt, iterations)
}

// VerifierFor makes the verifier of a password with a given salt.
func VerifierFor(mechanism, password string, salt []byte, iterations int) (Verifier, error) {
	hash, ok := scramHash(mechanism)
	if !ok {
		return Verifier{}, fmt.Errorf("%q is no SCRAM mechanism: %w", mechanism, ErrNoMech)
	}
	// The name has no part in it.
	c, err := newScramClient(hash, "user", password)
	if err != nil {
		return Verifier{}, err
	}
	s, err := c.GetStoredCredentialsWithError(scram.KeyFactors{Salt: string(salt), Iters: iterations})
	if err != nil {
		return Verifier{}, err
	}
	return Verifier{mechanism, iterations, salt, s.StoredKey, s.ServerKey}, nil
}

func (v Verifier) stored() scram.StoredCredentials {
	return scram.StoredCredentials{
		KeyFactors: scram.KeyFactors{Salt: string(v.Salt), Iters: v.Iterations},
		StoredKey:  v.StoredKey,
		ServerKey:  v.ServerKey,
	}
}

// Matches reports whether v is of that password.
func (v Verifier) Matches(password string) bool {
	w, err := VerifierFor(v.Mechanism, password, v.Salt, v.Iterations)
	return err == nil && hmac.Equal(v.StoredKey, w.StoredKey)
}

// String returns v as files have it:
//
//	SCRAM-SHA-256$iterations:salt$stored-key:server-key
//
// where the last three are in base 64.
func (v Verifier) String() string {
	enc := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("%s$%d:%s$%s:%s", v.Mechanism, v.Iterations, enc(v.Salt), enc(v.StoredKey), enc(v.ServerKey))
}

// ParseVerifier is the inverse of String.
func ParseVerifier(text string) (v Verifier, err error) {
	parts := strings.Split(text, "$")
	if len(parts) != 3 {
		return v, errors.New("verifier is not of the form mechanism$iterations:salt$key:key")
	}
	v.Mechanism = parts[0]
	hash, ok := scramHash(v.Mechanism)
	if !ok {
		return v, fmt.Errorf("verifier of unknown mechanism %.40q", v.Mechanism)
	}
	count, salt, ok1 := strings.Cut(parts[1], ":")
	stored, server, ok2 := strings.Cut(parts[2], ":")
	if !ok1 || !ok2 {
		return v, errors.New("verifier without a ':' in both of its parts")
	}
	v.Iterations, err = strconv.Atoi(count)
	if err != nil || v.Iterations < minIterations || v.Iterations > maxIterations {
		return v, fmt.Errorf("verifier's iterations %.20q are not in %d..%d", count, minIterations, maxIterations)
	}
	for _, f := range []struct {
		text string
		to   *[]byte
		name string
	}{{salt, &v.Salt, "salt"}, {stored, &v.StoredKey, "key"}, {server, &v.ServerKey, "key"}} {
		if *f.to, err = base64.StdEncoding.Strict().DecodeString(f.text); err != nil {
			return v, fmt.Errorf("verifier's %s: %w", f.name, err)
		}
	}
	size := hash().Size()
	if len(v.Salt) < 8 || len(v.Salt) > 64 || len(v.StoredKey) != size || len(v.ServerKey) != size {
		return v, errors.New("verifier's salt or keys do not have the right length")
	}
	return v, nil
}

package sasl

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Users are the accounts of a file of ours: for each name its verifiers.
//
//	# a comment
//	tux SCRAM-SHA-256$15000:salt$key:key SCRAM-SHA-512$15000:salt$key:key
//
// No password can be read from it, but weak ones can be guessed.
type Users map[string][]Verifier

// Limits of a file of users.
const (
	maxUsers     = 100_000
	maxUserLine  = 8192
	maxUserName  = 256
	maxVerifiers = 8
)

// ParseUsers reads a file of users. An error names the line.
func ParseUsers(r io.Reader) (Users, error) {
	users := Users{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxUserLine)
	no := 0
	for lines.Scan() {
		no++
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		words := strings.Fields(line)
		name := words[0]
		if err := CheckUserName(name); err != nil {
			return nil, fmt.Errorf("line %d: %w", no, err)
		}
		if _, ok := users[name]; ok {
			return nil, fmt.Errorf("line %d: user %q is there already", no, name)
		}
		if len(words) == 1 || len(words)-1 > maxVerifiers {
			return nil, fmt.Errorf("line %d: user %q has %d verifiers, 1 to %d can be", no, name, len(words)-1, maxVerifiers)
		}
		if len(users) == maxUsers {
			return nil, fmt.Errorf("line %d: more than %d users", no, maxUsers)
		}
		for _, w := range words[1:] {
			v, err := ParseVerifier(w)
			if err != nil {
				return nil, fmt.Errorf("line %d: user %q: %w", no, name, err)
			}
			users[name] = append(users[name], v)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", no+1, err)
	}
	return users, nil
}

// Write writes the file, in the order of the names.
func (u Users) Write(w io.Writer) error {
	b := bufio.NewWriter(w)
	for _, name := range slices.Sorted(maps.Keys(u)) {
		b.WriteString(name)
		for _, v := range u[name] {
			b.WriteString(" " + v.String())
		}
		b.WriteByte('\n')
	}
	return b.Flush()
}

// CheckUserName returns an error if name cannot be the name of an account.
func CheckUserName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("empty user name")
	case len(name) > maxUserName:
		return fmt.Errorf("user name of %d bytes, at most %d can be", len(name), maxUserName)
	case name[0] == '-' || name[0] == '#':
		return fmt.Errorf("user name %q starts with %q", name, name[0])
	}
	for _, r := range name {
		if r <= ' ' || r == 0x7f || r == 0xfffd || r == '=' || r == ',' {
			return fmt.Errorf("user name %q holds a %q", name, r)
		}
	}
	return nil
}

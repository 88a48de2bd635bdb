// Package fileversion checks the versions of files that programs keep for their next run or for each other.
//
//	if err := fileversion.Unmarshal(text, stateVersion, &s); err != nil {
//		return fmt.Errorf("%s: %w", path, err)
//	}
//
// A program reads files of its own version and of earlier ones. A file of a later version is a [*NewerError]: it may have
// what this program does not know, so a program that gets this error leaves the file as it is.
package fileversion

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A NewerError is the error for a file that a later release wrote.
type NewerError struct {
	Version int // of the file
	Known   int // the newest version that this program reads
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("the file has version %d, and this release reads versions up to %d: install the release that wrote it, or a later one; the file is left as it is",
		e.Version, e.Known)
}

// IsNewer reports whether an error is a [*NewerError].
func IsNewer(err error) bool {
	var e *NewerError
	return errors.As(err, &e)
}

// Check returns an error unless a version is one from 1 to known.
func Check(version, known int) error {
	switch {
	case version > known:
		return &NewerError{version, known}
	case version < 1:
		return fmt.Errorf("version %d is not a version", version)
	}
	return nil
}

// Unmarshal decodes JSON whose member "version" is its version, 1 if there is none. The version is checked even if the rest
// cannot be decoded, since a later version may have other types.
func Unmarshal(text []byte, known int, v any) error {
	err := json.Unmarshal(text, v)
	var head struct {
		Version *int `json:"version"`
	}
	if json.Unmarshal(text, &head) == nil && head.Version != nil {
		if e := Check(*head.Version, known); e != nil {
			return e
		}
	}
	return err
}

// CheckText checks a version that is the end of a text, after a name and a space, as in "pcp statsd names 1". It returns false if the text
// is not such a name.
func CheckText(text, name string, known int) (ok bool, err error) {
	digits, ok := strings.CutPrefix(text, name+" ")
	n, err := strconv.ParseUint(digits, 10, 31)
	if !ok || err != nil {
		return false, nil
	}
	return true, Check(int(n), known)
}

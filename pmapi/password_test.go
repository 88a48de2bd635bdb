package pmapi

import (
	"errors"
	"strings"
	"testing"
)

func TestHidePassword(t *testing.T) {
	for spec, want := range map[string]string{
		"host":                                   "host",
		"pcp://host?username=u&password=secret":  "pcp://host?username=u&password=***",
		"host?pass=secret&method=plain":          "host?pass=***&method=plain",
		"local:?PASSWORD=secret&password=secret": "local:?PASSWORD=***&password=***",
		"unix:/x?password=":                      "unix:/x?password=***",
		"host?container=x":                       "host?container=x",
		"host:x?password=a?password=b":           "host:x?password=***",
	} {
		if got := HidePassword(spec); got != want {
			t.Errorf("%q is shown as %q, want %q", spec, got, want)
		}
	}
}

// TestErrorsHidePasswords has each error with a specification in it.
func TestErrorsHidePasswords(t *testing.T) {
	_, err := ParseHostSpec("host?username=u&password=secret%zz")
	var se *SpecError
	if !errors.As(err, &se) {
		t.Fatalf("%v is no SpecError", err)
	}
	for _, text := range []string{se.Error(), se.Detail(), (&DialError{Spec: "h?password=secret", Err: errors.New("x")}).Error()} {
		if strings.Contains(text, "secret") || !strings.Contains(text, "***") {
			t.Errorf("message %q", text)
		}
	}
	if lines := strings.Split(se.Detail(), "\n"); len(lines[0]) != len(se.Spec) {
		t.Errorf("the caret of %q points elsewhere", se.Detail())
	}
}

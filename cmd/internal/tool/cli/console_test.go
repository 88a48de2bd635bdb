package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAsk uses files in place of a terminal.
func TestAsk(t *testing.T) {
	f := func(console, want, words string) {
		t.Helper()
		var errs bytes.Buffer
		env := &Env{Name: "pminfo", Stderr: &errs, Stdout: &bytes.Buffer{}, Getenv: func(name string) string {
			if name == "PCP_CONSOLE" {
				return console
			}
			return ""
		}}
		got, err := env.Ask(t.Context(), "Password: ", true)
		if err != nil && want != "too long" || got != want && want != "too long" || want == "too long" && err == nil {
			t.Errorf("console %.40q: %q, %v, want %q", console, got, err, want)
		}
		if !strings.Contains(errs.String(), words) || words == "" && errs.Len() > 0 {
			t.Errorf("console %.40q: it says %q, want %q", console, &errs, words)
		}
	}
	file := func(text string) string {
		t.Helper()
		path := filepath.Join(t.TempDir(), "console")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	f("none", "", "")
	f(file("secret\nmore\n"), "secret", "")
	f(file("secret"), "secret", "")
	f(file(""), "", "")
	f(file(strings.Repeat("x", 2000)+"\n"), "too long", "")
	f("/no/such/terminal", "", "Error: opening input terminal for read")
}

func TestUsersPath(t *testing.T) {
	f := func(want string, env ...string) {
		t.Helper()
		e := &Env{Getenv: func(name string) string {
			for _, kv := range env {
				if v, ok := strings.CutPrefix(kv, name+"="); ok {
					return v
				}
			}
			return ""
		}}
		if got := e.UsersPath(); got != want {
			t.Errorf("with %q: %q, want %q", env, got, want)
		}
	}
	f("/x/users.txt", "PCP_USERS_PATH=/x/users.txt", "PCP_PMCDCONF_PATH=/y/pmcd.conf")
	f("/y/users", "PCP_PMCDCONF_PATH=/y/pmcd.conf")
}

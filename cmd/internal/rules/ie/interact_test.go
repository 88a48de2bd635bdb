package ie

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmie"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
	"github.com/go-pcp/pcp/internal/console"
)

// typed is a terminal at which lines are typed, and then returns end.
type typed struct {
	lines    []string
	end      error // nil: nothing
	waiting  func()
	restored bool
}

func (ty *typed) ReadLine(string) (string, error) {
	if len(ty.lines) > 0 {
		line := ty.lines[0]
		if ty.lines = ty.lines[1:]; line == "^D" {
			return "", io.EOF
		}
		return line, nil
	}
	if ty.end == nil {
		ty.waiting()
		select {}
	}
	return "", ty.end
}

func (ty *typed) Restore() { ty.restored = true }

// talk has a dialogue at a terminal, and returns its output and its error.
func talk(ctx context.Context, t *testing.T, ty *typed) (string, error) {
	t.Helper()
	var out bytes.Buffer
	env := &cli.Env{Name: "pmie", Version: "1", Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }, LookupEnv: func(string) (string, bool) { return "", false }, Command: Command}
	set := &settings{}
	set.cfg = pmie.Config{Name: "pmie", Out: &out, Err: &out, Zone: time.UTC, Verbose: pmie.Values, Quiet: true}
	e, err := pmie.New(ctx, set.cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	d := &dialogue{set: set, env: env, o: source.Parse(env, cli.ParseConfig{Own: set.own}), e: e, in: commands{editor: ty}, always: true}
	d.start, _ = e.Bounds()
	err = d.talk(ctx)
	text, ok := strings.CutPrefix(out.String(), "Performance Co-Pilot Inference Engine (pmie), Version 1\n\n"+menu)
	if !ok {
		t.Errorf("begins with %q", out.String())
	}
	return text, err
}

// TestTyped types commands: a mistake does not end the program, and rules that are typed end with Ctrl-D.
func TestTyped(t *testing.T) {
	rules := filepath.Join(t.TempDir(), "rules")
	if err := os.WriteFile(rules, []byte("a = 1 + 1 < 2 || 2 > 1;\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	none := rules + ".none"
	got, err := talk(t.Context(), t, &typed{end: io.EOF, lines: []string{
		"l", "f " + none, "f " + rules, "l a", "l b", "f", "c =", "rising ($minute >= 0);", "^D", "l", "r 0", "v c", "r x", "T", "q 1", "l a",
	}})
	want := "pmie: cannot access config file " + none + ": No such file or directory\n" +
		"pmie: error - rule \"a\" not defined\n" +
		"pmie: error - rule \"b\" not defined\n" +
		"c =\nrising ($minute >= 0);\n\n" +
		"c: unknown\n\n" +
		"c (subexpression for %h, %i and %v bindings) =\nrising ($minute >= 0)\n\n" +
		"x\n^ -- unexpected value\n" +
		"pmie: error - argument required\n"
	if got != want || err != nil {
		t.Errorf("got\n%s\nwant\n%s\nerror %v", got, want, err)
	}
}

// TestTypedInterrupt ends the program by Ctrl-C at a prompt, and by a signal.
func TestTypedInterrupt(t *testing.T) {
	_, err := talk(t.Context(), t, &typed{end: console.ErrInterrupted})
	var out bytes.Buffer
	if status := (&settings{journal: &journal{w: &out}}).ended(t.Context(), err); status != 1 || out.String() != "\nInterrupted! signal=2\n" {
		t.Errorf("Ctrl-C: status %d, %q", status, out.String())
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	sig := &caught{number: sigTerm}
	ty := &typed{lines: []string{"f", "a = 1"}, waiting: func() { cancel(sig) }}
	if _, err := talk(ctx, t, ty); !errors.Is(err, sig) || !ty.restored {
		t.Errorf("signal: %v, terminal restored %v", err, ty.restored)
	}
}

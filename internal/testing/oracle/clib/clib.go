// Package clib asks the real libpcp, for tests that compare an answer of ours with
// its. Where it is not installed they are skipped.
package clib

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-pcp/pcp/internal/testing/oracle"
)

//go:embed testdata/vocab.c
var source string

// program builds the program that answers, once, and returns its path.
var program = sync.OnceValues(func() (string, error) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		return "", errors.New("no C compiler")
	}
	if _, err := os.Stat("/usr/include/pcp/pmapi.h"); err != nil {
		return "", errors.New("the headers of libpcp are not installed")
	}
	dir, err := os.MkdirTemp("", "pcp-oracle-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "vocab")
	cmd := exec.Command(cc, "-o", path, "-x", "c", "-", "-lpcp")
	cmd.Stdin = strings.NewReader(source)
	out, err := cmd.CombinedOutput()
	if err != nil {
		os.RemoveAll(dir)
		return "", fmt.Errorf("cc: %v\n%s", err, out)
	}
	return path, nil
})

// Main runs the tests of a package and then removes the program.
func Main(m *testing.M) {
	code := m.Run()
	if path, err := program(); err == nil {
		os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// Ask puts questions to the real library and returns an answer to each. The
// program, testdata/vocab.c, documents the questions.
func Ask(t testing.TB, questions []string) []string {
	t.Helper()
	oracle.Require(t)
	path, err := program()
	if err != nil {
		oracle.Missing(t, err.Error())
	}
	cmd := exec.Command(path)
	cmd.Env = append(os.Environ(), "TZ=UTC")
	cmd.Stdin = strings.NewReader(strings.Join(questions, "\n") + "\n")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("oracle: %v", err)
	}
	answers := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(answers) != len(questions) {
		t.Fatalf("oracle: %d answers to %d questions", len(answers), len(questions))
	}
	return answers
}

// A Trial collects questions with our answers, and compares them at the end.
type Trial struct {
	questions, ours []string
	// Equal, if set, decides where the answers differ.
	Equal func(question, ours, theirs string) bool
}

// Add adds a question, and our answer.
func (tr *Trial) Add(ours, format string, args ...any) {
	tr.questions = append(tr.questions, fmt.Sprintf(format, args...))
	tr.ours = append(tr.ours, ours)
}

// Compare asks the real library and reports where its answers are not ours.
func (tr *Trial) Compare(t *testing.T) {
	t.Helper()
	shown := 0
	for i, theirs := range Ask(t, tr.questions) {
		ours := tr.ours[i]
		if ours == theirs || tr.Equal != nil && tr.Equal(tr.questions[i], ours, theirs) {
			continue
		}
		if shown++; shown > 20 {
			t.Fatal("and more")
		}
		t.Errorf("%s:\n ours   %s\n theirs %s", tr.questions[i], ours, theirs)
	}
}

// Hex returns s as the program takes and prints bytes: "-" if it is empty.
func Hex[T string | []byte](s T) string {
	if len(s) == 0 {
		return "-"
	}
	return fmt.Sprintf("%x", []byte(s))
}

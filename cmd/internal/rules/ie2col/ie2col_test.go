package ie2col

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

func TestMain(m *testing.M) { twin.Main(m, Command) }

func call(t *testing.T, in io.Reader, args ...string) (status int, out, errs string) {
	var o, e bytes.Buffer
	status = Command.Run(t.Context(), &cli.Env{
		Name: "pmie2col", Args: args, Stdin: in, Stdout: &o, Stderr: &e, Command: Command, Getenv: func(string) string { return "" },
	})
	return status, o.String(), e.String()
}

func TestColumns(t *testing.T) {
	f := func(in, want string, args ...string) {
		t.Helper()
		if status, out, errs := call(t, strings.NewReader(in), args...); status != 0 || out != want || errs != "" {
			t.Errorf("pmie2col %q of %q = %d\n%s%s, want\n%s", args, in, status, out, errs, want)
		}
	}
	f("", "")
	f("a: 1\nb: 2\n", "       a       b") // the end has not come
	f("a: 1\nb: ?\n\na: 22.125\nb: x\n\n", "       a       b\n    1.00       ?\n   22.12       x\n")
	f("a: 1\nb: 2\n\na: 3\n\n", ";   a;   b\n; 1.0; 2.0\n; 3.0;   ?\n", "-w", "4", "-p", "1", "-d", ";")
	f("a: 1\n\n", "\ta\n\t1\n", "-w", "1", "-p", "0", "-d", `\t`)
	f("a (Tue Feb  3 05:01:19 2001): 7\n\n", strings.Repeat(" ", 25)+"       a\nTue Feb  3 05:01:19 2001     7.00\n")
	f("Host: bozo Archive: a\nHost: b-c Archive: a\n\n", "    Host\n  b-c Ar\n")
}

func TestMistakes(t *testing.T) {
	for _, args := range [][]string{{"-w", "x"}, {"-w", "-1"}, {"-p", "1001"}, {"-p", ""}} {
		if status, _, errs := call(t, strings.NewReader("a: 1\n\n"), args...); status != 1 || !strings.Contains(errs, "not a number from 0 to 1000") {
			t.Errorf("pmie2col %q = %d, %q", args, status, errs)
		}
	}
	if status, _, errs := call(t, strings.NewReader(strings.Repeat("x", maxLine+1))); status != 1 || !strings.Contains(errs, "longer than") {
		t.Errorf("a long line: %d, %q", status, errs)
	}
	broken := io.MultiReader(strings.NewReader("a: 1\n"), brokenReader{})
	if status, _, errs := call(t, broken); status != 1 || !strings.Contains(errs, "broken") {
		t.Errorf("an input that breaks: %d, %q", status, errs)
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("broken") }

// TestRandom compares with the C tool for lines of all kinds.
func TestRandom(t *testing.T) {
	oracle.Require(t)
	parts := []string{
		"a", "load_1", ":", ": ", " ", "  ", "|", "(", ")", " (Tue Feb 13 05:01:19 2001)", " (Wed Feb  3 15:01:19 2001): ", "1", "0.25", "-7e3", "?", "\"x y\"", "+5.", ".", "e", "inf", "0x1f", "nan", "Host: a Archive: b",
		"Note: running pmie serially, once per archive", "pmie: timezone set to x", "true", "false",
	}
	rng := rand.New(rand.NewPCG(longtest.Seed(t), 2))
	for range longtest.N(20, 500) {
		var b strings.Builder
		for range rng.IntN(30) {
			switch rng.IntN(4) {
			case 0:
				b.WriteString("\n")
			case 1:
				b.WriteString("col: ")
				b.WriteString(parts[rng.IntN(len(parts))] + "\n")
			default:
				for range rng.IntN(5) {
					b.WriteString(parts[rng.IntN(len(parts))])
				}
				b.WriteString("\n")
			}
		}
		if diff := twin.Compare(t, twin.Call{Tool: "pmie2col", Stdin: b.String()}); diff != "" {
			t.Errorf("%s\ninput: %q", diff, b.String())
		}
	}
}

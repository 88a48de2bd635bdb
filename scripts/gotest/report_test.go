package main

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/internal/testing/await"
)

const module = "github.com/go-pcp/pcp/"

// stream is what go test -json prints of two packages.
const stream = `{"Action":"start","Package":"` + module + `a"}
{"Action":"run","Package":"` + module + `a","Test":"TestGood"}
{"Action":"output","Package":"` + module + `a","Test":"TestGood","Output":"=== RUN   TestGood\n"}
{"Action":"output","Package":"` + module + `a","Test":"TestGood","Output":"    a_test.go:7: quiet\n"}
{"Action":"pass","Package":"` + module + `a","Test":"TestGood","Elapsed":0}
{"Action":"output","Package":"` + module + `a","Test":"TestOracle","Output":"    a_test.go:8: SKIPPED: real PCP is not installed: no pminfo\n"}
{"Action":"output","Package":"` + module + `a","Test":"TestOracle","Output":"--- SKIP: TestOracle (0.00s)\n"}
{"Action":"skip","Package":"` + module + `a","Test":"TestOracle","Elapsed":0}
{"Action":"output","Package":"` + module + `a","Test":"TestLong","Output":"    a_test.go:9: PCP_TEST_LONG is not set\n"}
{"Action":"skip","Package":"` + module + `a","Test":"TestLong","Elapsed":0}
{"Action":"output","Package":"` + module + `a","Output":"PASS\n"}
{"Action":"output","Package":"` + module + `a","Output":"ok  \t` + module + `a\t0.002s\n"}
{"Action":"pass","Package":"` + module + `a","Elapsed":0.002}
{"Action":"output","Package":"` + module + `b","Test":"TestBad","Output":"    b_test.go:5: wrong\n"}
{"Action":"fail","Package":"` + module + `b","Test":"TestBad","Elapsed":0}
{"Action":"output","Package":"` + module + `b","Test":"TestHangs","Output":"=== RUN   TestHangs\n"}
{"Action":"output","Package":"` + module + `b","Test":"TestHangs","Output":"panic: test timed out\n"}
{"Action":"output","Package":"` + module + `b","Output":"FAIL\t` + module + `b\t1.2s\n"}
{"Action":"fail","Package":"` + module + `b","Elapsed":1.2}
{"ImportPath":"` + module + `c","Action":"build-output","Output":"c.go:1: no such thing\n"}
`

func report1(t *testing.T, ci bool) (string, bool) {
	t.Helper()
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	r := newReport(w)
	if err := r.read(strings.NewReader(stream)); err != nil {
		t.Fatal(err)
	}
	bad := r.finish(ci)
	w.Flush()
	return b.String(), bad
}

func TestReport(t *testing.T) {
	got, bad := report1(t, false)
	if bad {
		t.Error("a skipped test is a failure outside of CI")
	}
	for _, want := range []string{
		"ok  \t" + module + "a\t0.002s\n", "b_test.go:5: wrong\n", "panic: test timed out\n", "c.go:1: no such thing\n",
		"SKIPPED: real PCP is not installed: no pminfo (1 tests: a TestOracle)\n",
		"SKIPPED: PCP_TEST_LONG is not set (1 tests: a TestLong)\n", "FAILED:\n\tb TestBad\n\tb\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "quiet") {
		t.Errorf("shows what a good test logs:\n%s", got)
	}
}

// TestMissingOracle checks that CI fails where there is nothing to compare with,
// and for nothing else here.
func TestMissingOracle(t *testing.T) {
	got, bad := report1(t, true)
	if !bad {
		t.Error("CI passes without the real PCP")
	}
	if n := strings.Count(got, "which CI does not allow"); n != 1 {
		t.Errorf("%d reasons are not allowed:\n%s", n, got)
	}
}

// TestProgress has a test that hangs, whose package and name a person should see.
func TestProgress(t *testing.T) {
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	r := newReport(w)
	events := ""
	for _, e := range []string{
		`"start","Package":"` + module + `a"`, `"run","Package":"` + module + `a","Test":"TestHangs"`, `"run","Package":"` + module + `a","Test":"TestHangs/deep"`,
		`"run","Package":"` + module + `a","Test":"TestLater"`, `"pause","Package":"` + module + `a","Test":"TestLater"`,
		`"run","Package":"` + module + `a","Test":"TestGood"`, `"pass","Package":"` + module + `a","Test":"TestGood"`,
		`"start","Package":"` + module + `b"`, `"run","Package":"` + module + `b","Test":"TestX"`, `"pass","Package":"` + module + `b"`,
	} {
		events += `{"Action":` + e + "}\n"
	}
	if err := r.read(strings.NewReader(events)); err != nil {
		t.Fatal(err)
	}
	if got, want := r.progress(time.Now().Add(time.Hour)), "still running: a for 1h0m0s, TestHangs/deep 1h0m0s\n"; got != want {
		t.Errorf("progress is %q, want %q", got, want)
	}
	stop := r.watch(time.Millisecond)
	await.Until(t, "a line is printed by itself", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return strings.Contains(b.String(), "TestHangs/deep")
	})
	stop()
}

// TestAgain has tests that fail once, always, and by more than a test.
func TestAgain(t *testing.T) {
	const once = `func TestOnce(t *testing.T) {
	if f, err := os.OpenFile("marker", os.O_CREATE|os.O_EXCL, 0o600); err == nil {
		f.Close()
		t.Error("the first time")
	}
}
`
	for _, c := range []struct {
		name, tests string
		most        int
		failed      bool
		want        string
	}{
		{"once", once, 1, false, "FLAKY: x TestOnce failed, and passes by itself\n"},
		{"off", once, 0, true, ""},
		{"always", once + "func TestAlways(t *testing.T) { t.Error(1) }\n", 2, true, "again: x TestAlways\n"},
		{"too many", once + "func TestAlways(t *testing.T) { t.Error(1) }\n", 1, true, ""},
		{"panic", once + "func TestPanic(t *testing.T) { panic(1) }\n", 2, true, ""},
		{"exit", once + "func TestExit(t *testing.T) { os.Exit(1) }\n", 2, true, ""},
		{"build", "var x int = os.Args\nvar _ testing.T\n", 2, true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{
				"go.mod":    "module x\n\ngo 1.26\n",
				"x.go":      "package x\n\nfunc F() int { return 1 }\n",
				"x_test.go": "package x\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestF(t *testing.T) { F() }\n\n" + c.tests,
			} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			t.Chdir(dir)
			t.Setenv("GOWORK", "off")
			var b bytes.Buffer
			r := newReport(bufio.NewWriter(&b))
			r.out = &b
			profile := filepath.Join(dir, "cover.out")
			args := []string{"-timeout=1m", "-coverprofile=" + profile, "-run", "Test", "./..."}
			failed, err := r.test(args)
			if err != nil {
				t.Fatal(err)
			}
			first, _ := os.ReadFile(profile)
			if failed && c.most > 0 {
				failed = r.again(args, c.most)
			}
			if second, _ := os.ReadFile(profile); !bytes.Equal(first, second) {
				t.Errorf("the second run wrote the profile %q, the first %q", second, first)
			}
			got := b.String()
			if failed != c.failed || !strings.Contains(got, c.want) || c.failed && strings.Contains(got, "FLAKY") {
				t.Errorf("failed %t, want %t, with %q:\n%s", failed, c.failed, c.want, got)
			}
		})
	}
}

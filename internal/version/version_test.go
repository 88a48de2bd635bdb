package version

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestRelease(t *testing.T) {
	f := func(module, want string) {
		t.Helper()
		if got := release(module); got != want {
			t.Errorf("release(%q) = %q, want %q", module, got, want)
		}
	}
	f("v0.3.12", "0.3.12")
	f("v10.0.0", "10.0.0")
	f("", Number)
	f("(devel)", Number)
	f("v1.2", Number)
	f("v1..2", Number)
	f("1.2.3", Number)
	f("v1.2.3-rc.1", Number)
	f("v0.0.0-20261122105330-d3de0cd00000", Number)
	f("v0.1.0+dirty", Number)
}

// TestNumber checks that scripts can compare the number, and that the change log
// agrees with it.
func TestNumber(t *testing.T) {
	if !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(Number) {
		t.Errorf("Number is %q, want three numbers", Number)
	}
	log, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(log), Number) {
		t.Errorf("CHANGELOG.md does not name version %s", Number)
	}
}

func TestDetails(t *testing.T) {
	if got := Details(); !strings.Contains(got, "go1") || strings.Contains(got, "\n") {
		t.Errorf("Details() = %q, want one line with the Go release", got)
	}
}

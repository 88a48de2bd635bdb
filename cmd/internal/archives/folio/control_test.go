package folio

import (
	"os/exec"
	"reflect"
	"strings"
	"testing"
)

func TestParseControl(t *testing.T) {
	f := func(in string, want map[string]string) {
		t.Helper()
		got, err := parseControl(in)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("parseControl(%q) = %v, %v, want %v", in, got, err, want)
		}
	}
	f("", map[string]string{})
	f("# x\n\nA=1 # y\n B='2 3';C=\"4 $A ${B}\\\n5\" \n", map[string]string{"A": "1", "B": "2 3", "C": "4 1 2 35"})
	f("A=a\\ b\nA=\"$A c\\\"\\d\"\nB=$\n", map[string]string{"A": "a b c\"\\d", "B": "$"})
	f("A=", map[string]string{"A": ""})
	for _, in := range []string{"echo x", "A='", "A=\"$(date)\"", "A=`x`", "1=2", "A=b|c", "=", "A=xx\n" + strings.Repeat("A=$A$A$A\n", 100)} {
		if got, err := parseControl(in); err == nil {
			t.Errorf("parseControl(%.40q) is no error, %d variables", in, len(got))
		}
	}
}

// TestFill compares with fmt(1).
func TestFill(t *testing.T) {
	path, err := exec.LookPath("fmt")
	if err != nil {
		t.Skip("SKIPPED: fmt(1) is not installed")
	}
	for n := 1; n < 60; n++ {
		var words []string
		for i := range n {
			words = append(words, strings.Repeat("abcdefghij"[i%10:i%10+1], 1+(i*i*7+n*3)%17))
		}
		cmd := exec.Command(path)
		cmd.Env = []string{"LC_ALL=C"}
		cmd.Stdin = strings.NewReader(strings.Join(words, "\n") + "\n")
		want, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(fill(words), "\n") + "\n"; got != string(want) {
			t.Errorf("fill of %d words:\n%swant\n%s", n, got, want)
		}
	}
}

func FuzzParseControl(f *testing.F) {
	f.Add("A=\"b c\"\n# d\nB='$A'${A}\\\n\n")
	f.Fuzz(func(t *testing.T, in string) {
		vars, err := parseControl(in)
		if err != nil {
			return
		}
		for name, v := range vars {
			if name == "" || len(v) > maxControl {
				t.Errorf("%q: %q has %d bytes", in, name, len(v))
			}
		}
	})
}

package cli

import (
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
)

func TestFill(t *testing.T) {
	f := func(text string, want ...string) {
		t.Helper()
		if got := strings.Join(Fill(text, 64), "\n"); got != strings.Join(want, "\n") {
			t.Errorf("Fill(%q):\n%s\nwant\n%s", text, got, strings.Join(want, "\n"))
		}
	}
	f("")
	f(" \n")
	f("one", "one")
	f("Available Commands:     atop\natopsar\ndmcache\ndstat\nfree\nhtop\niostat\nipcs\nlvmcache\nmpstat\nnumastat\npidstat\nps\npython\nshping\nss\nsummary\ntapestat\nuptime\nverify\nvmstat\n",
		"Available Commands:     atop atopsar dmcache dstat free htop",
		"iostat ipcs lvmcache mpstat numastat pidstat ps python shping",
		"ss summary tapestat uptime verify vmstat")
	f(strings.Repeat("x", 200)+" y", strings.Repeat("x", 200), "y")
}

// TestFillGNU compares with fmt, whose lines PCP's scripts print.
func TestFillGNU(t *testing.T) {
	fmt, err := exec.LookPath("fmt")
	if err != nil {
		t.Skip("SKIPPED: there is no fmt to compare with")
	}
	if out, _ := exec.Command(fmt, "--version").Output(); !strings.Contains(string(out), "GNU") {
		t.Skip("SKIPPED: fmt is not GNU's")
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 150 {
		var b strings.Builder
		for range 1 + r.IntN(60) {
			b.WriteString(strings.Repeat("w", 1+r.IntN(14)))
			b.WriteString([]string{"", "", "", ".", ":", "[3]", "?)", ","}[r.IntN(8)])
			b.WriteString([]string{" ", " ", " ", "  ", "\n"}[r.IntN(5)])
		}
		text := strings.ReplaceAll(b.String(), "www[3]", "(ww")
		cmd := exec.Command(fmt, "-w", "64")
		cmd.Stdin = strings.NewReader(text)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(Fill(text, 64), "\n"); got != strings.TrimSuffix(string(out), "\n") {
			t.Fatalf("Fill(%q):\n%s\nfmt:\n%s", text, got, out)
		}
	}
}

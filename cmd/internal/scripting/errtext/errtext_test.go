package errtext

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// pmerr runs our pmerr.
func pmerr(args ...string) string { return pmerrOf("", args...) }

// pmerrOf runs it with a value of PCP_COMPAT.
func pmerrOf(compat string, args ...string) string {
	var out, errs bytes.Buffer
	getenv := func(name string) string { return map[string]string{"PCP_COMPAT": compat}[name] }
	env := &cli.Env{Name: "pmerr", Args: args, Stdout: &out, Stderr: &errs, Getenv: getenv, Command: Command}
	status := Command.Run(context.Background(), env)
	return fmt.Sprintf("%s---\n%s---\nstatus %d\n", &out, &errs, status)
}

func TestRun(t *testing.T) {
	f := func(want string, args ...string) {
		t.Helper()
		if got := pmerr(args...); got != want {
			t.Errorf("pmerr %q:\n%swant\n%s", args, got, want)
		}
	}
	f("Code: -12357 0xffffcfbb Text: Unknown metric name\n---\n---\nstatus 0\n", "-12357")
	f("Code: -12357 0xffffcfbb Text: Unknown metric name\n---\n---\nstatus 0\n", "0xffffcfbb")
	f("Code is positive, assume you mean -2\nCode: -2 0xfffffffe Text: No such file or directory\n---\n---\nstatus 0\n", "2")
	f("Cannot decode \"PM_ERR_NAME\" - neither decimal nor hexadecimal\nCode: 0 0x0 Text: No error\n---\n---\nstatus 0\n", "PM_ERR_NAME", "0")
	f("---\n---\nstatus 0\n")
	f("---\nIllegal option -- z\n"+usage+"---\nstatus 1\n", "-z")
	f("---\n"+usage+"---\nstatus 1\n", "--help")
	if got := pmerr("-l"); !strings.HasPrefix(got, "  Code  Symbolic Name          Message\n-12345  PM_ERR_GENERIC         Generic error, already reported above\n") ||
		!strings.HasSuffix(got, "-21344  PM_ERR_NYI             Functionality not yet implemented\n---\n---\nstatus 1\n") {
		t.Errorf("pmerr -l:\n%s", got)
	}
}

// TestOracle compares our output and exit status with the real pmerr's.
func TestOracle(t *testing.T) {
	path, err := exec.LookPath("pmerr")
	if err != nil {
		t.Skip("real PCP is not installed: ", err)
	}
	for _, args := range [][]string{
		{},
		{"-l"},
		{"--list"},
		{"-l", "5"},
		{"-?"},
		{"--help"},
		{"-z"},
		{"--lis"},
		{"--"},
		{"-"},
		{"-lx"},
		{"-g"},
		{"-V"},
		{"-12357"},
		{"0xffffcfbb"},
		{"0XFFFFCFBB"},
		{"12357"},
		{"-1", "-2", "-12345", "-12352", "-21345", "-30000"},
		{"0"},
		{"-0"},
		{"00012"},
		{"5", "-l"},
		{"abc"},
		{"-abc"},
		{"-fz"},
		{"12abc"},
		{"0xzz"},
		{"0x"},
		{"0x12g"},
		{"-0x5"},
		{" 7"},
		{"+3"},
		{"\t-9"},
		{"+"},
		{"- 3"},
		{""},
		{"99999999999"},
		{"99999999999999999999"},
		{"-99999999999999999999"},
		{"0x1ffffffff"},
		{"0xfffffffffffffffffffff"},
		{"-2147483648"},
		{"2147483648"},
		{"0x80000000"},
		{"0x80000000", "1_0", "0x1_0"},
		{"PM_ERR_NAME"},
		{"-133", "-134", "-200", "-12344"},
		{"é"},
	} {
		cmd := exec.Command(path, args...)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); cmd.ProcessState == nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("%s---\n%s---\nstatus %d\n", &out, &errs, cmd.ProcessState.ExitCode())
		if got := pmerr(args...); got != want {
			t.Errorf("pmerr %q:\n%stheirs\n%s", args, got, want)
		}
	}
}

// TestSeven: the code that version 7 added has a message with PCP_COMPAT=7, and only then.
func TestSeven(t *testing.T) {
	for compat, want := range map[string]string{"": "No such PMAPI error code (-12415)", "7": "Bad value for function argument"} {
		if got := pmerrOf(compat, "-12415"); got != "Code: -12415 0xffffcf81 Text: "+want+"\n---\n---\nstatus 0\n" {
			t.Errorf("PCP_COMPAT=%s:\n%s", compat, got)
		}
		if list := pmerrOf(compat, "-l"); strings.Contains(list, "\n-12415  PM_ERR_ARG             Bad value") != (compat == "7") {
			t.Errorf("PCP_COMPAT=%s: the list has -12415, or lacks it:\n%s", compat, list)
		}
	}
}

package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// TestNewcomer types a newcomer's commands on a machine that has nothing of PCP,
// and compares the screens. UPDATE=1 writes the screens into the scripts.
func TestNewcomer(t *testing.T) {
	newcomer(t, "testdata/newcomer/alone", func(env *testscript.Env) {
		port := strconv.Itoa(oracle.FreePort(t))
		env.Setenv("PORT", port)
		env.Setenv("PMCD_PORT", port) // as if it were the usual one
		env.Setenv("PCP_RUN_DIR", filepath.Join(env.WorkDir, "run"))
	})
}

// TestNewcomerBeside is the same on a machine where the collector of the C
// implementation runs.
func TestNewcomerBeside(t *testing.T) {
	c := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "sample"}})
	newcomer(t, "testdata/newcomer/beside", func(env *testscript.Env) {
		env.Setenv("PORT", strconv.Itoa(oracle.FreePort(t)))
		env.Setenv("TAKEN", strconv.Itoa(c.Port))
		env.Setenv("CSOCKET", c.Socket)
		env.Setenv("PMCD_PORT", strconv.Itoa(c.Port))
		env.Setenv("PMCD_SOCKET", c.Socket)
		env.Setenv("PCP_RUN_DIR", filepath.Join(env.WorkDir, "run"))
	})
}

// TestNewcomerOwn has a collector at another port, which is found by the user's socket.
func TestNewcomerOwn(t *testing.T) {
	newcomer(t, "testdata/newcomer/own", func(env *testscript.Env) {
		env.Setenv("PORT", strconv.Itoa(oracle.FreePort(t)))
		env.Setenv("PCP_RUN_DIR", filepath.Join(env.WorkDir, "run"))
	})
}

func newcomer(t *testing.T, dir string, setup func(*testscript.Env)) {
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		UpdateScripts:       os.Getenv("UPDATE") != "",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			// The path of a socket must be short.
			home, err := os.MkdirTemp("", "home")
			if err != nil {
				return err
			}
			env.Defer(func() { os.RemoveAll(home) })
			env.Setenv("HOME", home)
			env.Setenv("PCP_CONF", "/dev/null")
			env.Setenv("PCP_PMCDCONF_PATH", filepath.Join(env.WorkDir, "etc", "pmcd.conf"))
			env.Setenv("TZ", "UTC")
			env.Setenv("NOISE", noise(env))
			setup(env)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"screen": showScreen,
			"ready":  ready,
		},
	})
}

// noise starts a server that is not a collector, and returns its address.
func noise(env *testscript.Env) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		env.T().Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			fmt.Fprint(c, "SSH-2.0-OpenSSH_9.6 and so on, a line long enough for a PDU\r\n")
			c.Close()
		}
	}()
	env.Defer(func() {
		ln.Close()
		<-done
	})
	return ln.Addr().String()
}

// showScreen runs a command line of pcp, and writes both of its outputs and its exit
// status into the file "screen", with marks in place of parts that change each time.
func showScreen(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec("pcp", args...)
	text := ts.ReadFile("stdout") + ts.ReadFile("stderr")
	if err != nil {
		text += "[failed]\n"
	}
	ts.Check(os.WriteFile(ts.MkAbs("screen"), []byte(mask(ts, text)), 0o666))
}

// ready waits until "pcp up", whose output is in a file, serves, and masks that.
func ready(ts *testscript.TestScript, _ bool, args []string) {
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		text, _ := os.ReadFile(ts.MkAbs(args[0]))
		if strings.Contains(string(text), "Recording about") || strings.Contains(string(text), "Ctrl-C") && !strings.Contains(string(text), "  records ") {
			ts.Check(os.WriteFile(ts.MkAbs("screen"), []byte(mask(ts, string(text))), 0o666))
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("it does not come up: %s", text)
		}
	}
}

func mask(ts *testscript.TestScript, text string) string {
	host, _ := os.Hostname()
	for _, m := range [][2]string{
		{"WORK", "$WORK"}, {"HOME", "$HOME"}, {"NOISE", "127.0.0.1:NOISE"}, {"CSOCKET", "/run/pcp/pmcd.socket"},
	} {
		if v := ts.Getenv(m[0]); v != "" {
			text = strings.ReplaceAll(text, v, m[1])
		}
	}
	for _, m := range [][2]string{{"PORT", "44399"}, {"TAKEN", "44321"}} {
		if v := ts.Getenv(m[0]); v != "" {
			text = regexp.MustCompile(`\b`+v+`\b`).ReplaceAllString(text, m[1])
		}
	}
	if host != "" {
		text = regexp.MustCompile(`\b`+regexp.QuoteMeta(host)+`\b`).ReplaceAllString(text, "HOST")
	}
	for _, m := range [][2]string{
		{`"20\d\d-[^"]*Z"`, `"TIME"`},
		{`Recording about [0-9.]+ [KMG]B a day`, "Recording about SIZE a day"},
		{`process id \d+`, `process id PID`},
		{`value [0-9.e+-]+`, "value N"},
		{`"value":[0-9.e+-]+`, `"value":N`},
		// Another port if that is taken.
		{`  page     http://localhost:\d+/\?token=\w+`, "  page     http://localhost:44323/?token=TOKEN"},
		// Not every machine has it.
		{`  address  \[::1\]:\d+\n`, ""},
		{`\n  \[::1\]:\d+: [^\n]*`, ""},
		{`"[0-9][^"]*\.so[^"]*"`, `"VERSION"`},
	} {
		text = regexp.MustCompile(m[0]).ReplaceAllString(text, m[1])
	}
	var b strings.Builder
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		b.WriteString(strings.TrimRight(lines.Text(), " ") + "\n")
	}
	return b.String()
}

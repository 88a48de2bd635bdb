package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/internal/testing/await"
)

// TestAlertsPage runs each line for the shell that docs/alerts.md has, with the rules and receivers
// of that page. Lines that would run until stopped end after the first evaluation.
func TestAlertsPage(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the page is about metrics of Linux")
	}
	page, err := os.ReadFile("../../docs/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	taken := make(chan string, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { taken <- r.Header.Get("X-Token") }))
	defer hook.Close()
	dir, err := os.MkdirTemp("", "alerts") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pcp := program(t)
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	environ := append(covered(), "HOME="+dir, "TMPDIR="+dir, "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"), "PCP_CONF=/dev/null", "PCP_RUN_DIR="+dir,
		"PCP_SYSCONF_DIR="+filepath.Join(dir, "etc"), "PCP_TMP_DIR="+dir, "PCP_LOG_DIR="+dir, "PMCD_SOCKET="+filepath.Join(dir, "s"), "PCP_USER="+me.Username)
	sh := func(line string) (string, error) {
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir, cmd.Env = dir, environ
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	// up runs a collector during a call of during.
	up := func(line string, during func()) {
		t.Helper()
		cmd := exec.Command("sh", "-c", "exec "+line)
		cmd.Dir, cmd.Env = dir, environ
		var errs bytes.Buffer
		cmd.Stderr = &errs
		screen, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := screen.Read(make([]byte, 1)); err != nil {
			await.Exit(t, cmd)
			t.Errorf("%s: %v\n%s", line, err, &errs)
			return
		}
		during()
		cmd.Process.Signal(os.Interrupt)
		go func() {
			for b := make([]byte, 1000); err == nil; {
				_, err = screen.Read(b)
			}
		}()
		if err := await.Exit(t, cmd); err != nil || errs.Len() > 0 {
			t.Errorf("%s: %v\n%s", line, err, &errs)
		}
	}

	if out, err := exec.Command(pcp, "links", filepath.Join(dir, "bin")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var lines []string
	files := 0
	for _, block := range regexp.MustCompile(`(?m)(^    .*\n|^\n)+`).FindAllString(string(page), -1) {
		text := strings.TrimPrefix(regexp.MustCompile(`(?m)^    `).ReplaceAllString(block, ""), "\n")
		switch {
		case strings.TrimSpace(text) == "":
		case strings.HasPrefix(text, "groups:"):
			files++
			write("node.yml", text)
		case strings.HasPrefix(text, "delta = "):
			files++
			write([]string{"FILE", "rules"}[min(files, 2)-1], text)
		case strings.Contains(text, "\nreceiver "):
			files++
			text = strings.NewReplacer("https://hooks.example.com/pcp", hook.URL, "/var/lib/pcp/alerts", filepath.Join(dir, "spool")).Replace(text)
			write("etc/pmie/receivers.conf", text)
			write("etc/pmie/pager.secret", "pssst\n")
			write("etc/pmie/mail.secret", "pssst\n")
		default:
			lines = append(lines, slices.Collect(strings.Lines(strings.TrimRight(text, "\n")))...)
		}
	}
	if files != 4 || len(lines) < 17 {
		t.Fatalf("the page has %d files and %d lines for the shell", files, len(lines))
	}
	write("config", "log mandatory on 100 msec { filesys.full }\n")
	notRun := map[string]string{
		"pmiectl create web7.example.com": "it begins with a daemon for a host that is not there",
		"pmiectl status":                  "it is about the daemons of the machine",
	}
	up("pcp up --no-web --no-record --port 0 --socket "+filepath.Join(dir, "s"), func() {
		if out, err := sh("pcp logger -c config -T 0.5sec -l log morning"); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for _, line := range lines {
			line, _, _ = strings.Cut(line, "#")
			line = strings.TrimSpace(line)
			switch {
			case notRun[line] != "":
				delete(notRun, line)
				continue
			case strings.HasPrefix(line, "pcp up"):
				up(line+" --no-web --no-record --port 0 --dir other", func() {})
				continue
			}
			run := line
			if strings.Contains(line, "pcp ie") && !strings.Contains(line, " -a ") && !strings.Contains(line, " -C ") {
				run = strings.Replace(line, "pcp ie", "pcp ie -T 0.1sec", 1)
			}
			out, err := sh(run)
			if err != nil || strings.Contains(out, "syntax error") || strings.Contains(out, "cannot") {
				t.Errorf("%s: %v\n%s", line, err, out)
			}
			if strings.HasPrefix(line, "pcp alerts send") {
				if token := <-taken; token != "pssst" {
					t.Errorf("%s: the receiver gets %q", line, token)
				}
			}
		}
	})
	for line := range notRun {
		t.Errorf("the page has no line %q any more", line)
	}
}

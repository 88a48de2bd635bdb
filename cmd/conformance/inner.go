//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// qaUser is the user that runs the tests, as in PCP's own set-up.
const qaUser = "pcpqa"

// A job is the input of the first process of a sandbox, on its standard input.
type job struct {
	Layout   layout
	Test     string        // the test to run, or "":
	Script   []byte        // the test itself and its expected output, if the suite
	Expected []byte        // does not have it
	Command  string        // a command to run with our own streams
	PMCD     bool          // start a collector first
	Logger   bool          // and pmlogger
	Root     bool          // as root
	Zone     string        // TZ of the test, "" for the machine's
	Env      []string      // additional environment: NAME=VALUE
	Timeout  time.Duration // for the test
	Log      string        // file for what Command prints, "" for standard output
	Out      string        // file of our results

	log *os.File
}

// A result is its output, in the file job.Out.
type result struct {
	Status   string        // PASS and so on
	Note     string        // why
	Took     time.Duration // by the test itself
	Ran      []string      // our commands that ran, once each
	Expected []byte
	Output   []byte
	Full     []byte // the test's detailed log
	Log      []byte // of the collector
}

// inner is the first process of a sandbox.
func inner(j *job) (*result, error) {
	if err := j.Layout.build(); err != nil {
		return nil, err
	}
	os.RemoveAll("/run/pcp")
	if err := os.MkdirAll("/run/pcp", 0o775); err != nil {
		return nil, err
	}
	if u, err := user.Lookup("pcp"); err == nil {
		chown("/run/pcp", u)
	}
	// Tests filter process numbers, and not those of one or two digits.
	os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(strconv.Itoa(11000+int(time.Now().UnixNano()/1000%19000))), 0)
	unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	name := qaUser
	if j.Root {
		name = "root"
	}
	u, err := user.Lookup(name)
	if err != nil {
		return nil, err
	}
	res := &result{}
	if j.PMCD {
		if res.Log, err = startPMCD(j); err != nil {
			return nil, err
		}
	}
	if j.Command != "" {
		status, err := j.run(u, j.Command, j.log, j.Timeout)
		if err == nil && status != 0 {
			err = fmt.Errorf("exit status %d", status)
		}
		return res, err
	}
	return res, j.runTest(u, res)
}

func chown(path string, u *user.User) error {
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	return os.Chown(path, uid, gid)
}

// environ returns the environment of a test.
func environ(name, home string) []string {
	return []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "TERM=dumb",
		"HOME=" + home, "USER=" + name, "LOGNAME=" + name, "SHELL=/bin/sh",
		"PCPQA_SYSTEMD=no", "PCPQA_IN_QARUN=1",
	}
}

// startPMCD starts the collector and forgets the commands that ran for that,
// except the daemons.
func startPMCD(j *job) (log []byte, err error) {
	cmd := exec.Command("/etc/init.d/pmcd", "start")
	cmd.Env = append(environ("root", "/"), j.Env...)
	// Not a pipe: the daemons keep it open.
	f, err := os.Create(inSandbox("pmcd.start"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	cmd.Stdout, cmd.Stderr = f, f
	err = cmd.Run()
	for range 1200 { // the script continues in the background
		if err != nil || pmcdAnswers() && !scriptRuns() {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	log, _ = os.ReadFile(f.Name())
	more, _ := os.ReadFile("/var/log/pcp/pmcd/pmcd.log")
	log = append(log, more...)
	if err != nil || !pmcdAnswers() {
		return nil, fmt.Errorf("starting pmcd: %v\n%s", err, log)
	}
	var kept []string
	for _, name := range ran() {
		if name == "pmcd" || strings.HasPrefix(name, "pmda") {
			kept = append(kept, "ours "+name+"\n")
		}
	}
	return log, os.WriteFile(inSandbox("ran.log"), []byte(strings.Join(kept, "")), 0o666)
}

// portFiles is the directory in which pmlogger processes publish their
// addresses.
const portFiles = "/var/lib/pcp/tmp/pmlogger"

// startLogger starts pmlogger by its script, and waits until it runs.
func startLogger(env []string) error {
	cmd := exec.Command("/etc/init.d/pmlogger", "start")
	cmd.Env = append(environ("root", "/"), env...)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("starting pmlogger: %w", err)
	}
	for range 1200 {
		files, _ := filepath.Glob("/proc/[0-9]*/comm")
		for _, f := range files {
			if b, _ := os.ReadFile(f); string(b) != "pmlogger\n" {
				continue
			}
			if _, err := os.Stat(filepath.Join(portFiles, "primary")); err == nil { // it serves pmlc
				return nil
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	return errors.New("starting pmlogger: it does not run")
}

func pmcdAnswers() bool {
	_, err := os.Stat("/run/pcp/pmcd.socket")
	return err == nil
}

// scriptRuns reports whether the start script still runs.
func scriptRuns() bool {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		b, _ := os.ReadFile(f)
		if bytes.HasPrefix(b, []byte("/bin/sh\x00")) && bytes.Contains(b, []byte("/pmcd")) {
			return true
		}
	}
	return false
}

// ran returns our commands that were called.
func ran() []string {
	b, _ := os.ReadFile(inSandbox("ran.log"))
	var names []string
	seen := make(map[string]bool)
	for line := range strings.Lines(string(b)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "ours "); ok && !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names
}

// display returns the additional environment of tests of commands for screens.
func (j *job) display() []string {
	for name := range elsewhere {
		if j.Layout.Links[name] != "" {
			return []string{"PCPQA_CLOSE_X_SERVER=:0"}
		}
	}
	return nil
}

// zone returns the additional environment of tests with a time zone of their own.
func (j *job) zone() []string {
	if j.Zone == "" {
		return nil
	}
	return []string{"TZ=" + j.Zone}
}

// run runs a shell command in the suite's directory, and reaps all orphans
// meanwhile. After the timeout its status is -1.
func (j *job) run(u *user.User, command string, out *os.File, timeout time.Duration) (int, error) {
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	unix.Umask(0o022)
	p, err := os.StartProcess("/bin/sh", []string{"/bin/sh", "-c", command}, &os.ProcAttr{
		Dir:   j.Layout.Suite,
		Env:   slices.Concat(environ(u.Username, j.Layout.Suite), j.display(), j.zone(), j.Env),
		Files: []*os.File{null, out, out},
		Sys: &syscall.SysProcAttr{
			Setsid:     true,
			Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid), Groups: []uint32{uint32(gid)}},
		},
	})
	if err != nil {
		return 0, err
	}
	done := make(chan int, 1)
	go func() {
		for {
			var ws unix.WaitStatus
			pid, err := unix.Wait4(-1, &ws, 0, nil)
			switch {
			case err == unix.EINTR:
			case err != nil:
				done <- 127
				return
			case pid == p.Pid && ws.Signaled():
				done <- 128 + int(ws.Signal())
				return
			case pid == p.Pid:
				done <- ws.ExitStatus()
				return
			}
		}
	}()
	select {
	case status := <-done:
		return status, nil
	case <-time.After(timeout):
		return -1, nil
	}
}

// preamble does the set-up of the suite's own driver before a test.
const preamble = `. ./common.rc; MSGVERB=text:action; PCP_DERIVED_CONFIG=""
export MSGVERB PCP_BINADM_DIR PCP_DERIVED_CONFIG; unset tmp here; trap - 6
`

func (j *job) runTest(u *user.User, res *result) error {
	out, err := os.OpenFile(inSandbox("output"), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	if j.Script != nil {
		path := filepath.Join(j.Layout.Suite, j.Test)
		err := errors.Join(os.WriteFile(path, j.Script, 0o644), os.Chmod(path, 0o755), os.WriteFile(path+".out", j.Expected, 0o644))
		if err != nil {
			return err
		}
	}
	if j.Logger {
		if err := startLogger(j.Env); err != nil {
			return err
		}
	}
	start := time.Now()
	status, err := j.run(u, preamble+"rm -f "+j.Test+".notrun core; exec ./"+j.Test, out, j.Timeout)
	if err != nil {
		return err
	}
	res.Took = time.Since(start)
	res.Ran = ran()
	beside := func(ext string) []byte {
		b, _ := os.ReadFile(filepath.Join(j.Layout.Suite, j.Test+ext))
		return b
	}
	// Tests choose among several expected outputs by a link.
	res.Expected, res.Full = beside(".out"), beside(".full")
	if res.Output, err = os.ReadFile(out.Name()); err != nil {
		return err
	}
	same := bytes.Equal(res.Output, res.Expected)
	switch reason := beside(".notrun"); {
	case status == -1:
		res.Status = timeout
	case len(reason) > 0:
		res.Status, res.Note = notRun, string(bytes.TrimSpace(reason))
	case status != 0:
		res.Status, res.Note = fail, fmt.Sprintf("exit status %d", status)
	case !same:
		res.Status, res.Note = fail, "output differs"
	default:
		res.Status = pass
	}
	return nil
}

// innerMain is main in a sandbox.
func innerMain() int {
	var j job
	if err := json.NewDecoder(os.Stdin).Decode(&j); err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		return 1
	}
	// Tests have init read its files again; ignored, others would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	// Files are opened before the sandbox hides them.
	j.log = os.Stdout
	if j.Log != "" {
		f, err := os.OpenFile(j.Log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
		if err != nil {
			fmt.Fprintln(os.Stderr, "conformance:", err)
			return 1
		}
		j.log = f
	}
	out, err := os.Create(j.Out)
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		return 1
	}
	defer out.Close()
	res, err := inner(&j)
	if err == nil {
		err = json.NewEncoder(out).Encode(res)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		return 1
	}
	return 0
}

package pmrecord

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/archives/dumplog"
	toolfolio "github.com/go-pcp/pcp/cmd/internal/archives/folio"
	"github.com/go-pcp/pcp/cmd/internal/record/logger"
	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/folio"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/pmapi/record"
)

// TestMain makes this program pmlogger, pmafm, and a program that runs a session by
// lines on standard input.
func TestMain(m *testing.M) {
	if os.Getenv("RECORD_TEST") != "" && filepath.Base(os.Args[0]) != "pmlogger" {
		drive()
		os.Exit(0)
	}
	l := *logger.Command
	l.Link = "pmlogger"
	twin.Main(m, &l, toolfolio.Command, dumplog.Command)
}

// drive is testdata/record.c with this package. Words are divided by tabs.
//
//	setup FOLIO CREATOR REPLAY    the answer to this and to most others is a status
//	add HOST DEFAULT
//	write HOST TEXT               hosts are numbered from 0; -1 is all of them
//	setarg HOST ARGUMENT
//	on
//	off HOST, detach HOST, status HOST
//	wait HOST                     for the end of its logger
//	show HOST
func drive() {
	var s *record.Session
	var hosts []*record.Host
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		w := append(strings.Split(in.Text(), "\t"), "", "", "")
		var h *record.Host
		if i, err := strconv.Atoi(w[1]); err == nil && i >= 0 && i < len(hosts) {
			h = hosts[i]
		}
		choose := func(all func() error, one func(*record.Host) error) error {
			if h == nil {
				return all()
			}
			return one(h)
		}
		var err error
		switch w[0] {
		case "setup":
			if s, err = record.Setup(w[1], record.Config{Creator: w[2], Replay: w[3] == "1"}); err == nil {
				fmt.Fprintln(s.Replay(), "view")
			}
		case "add":
			var h *record.Host
			if h, err = s.AddHost(w[1], w[2] == "1"); err == nil {
				hosts = append(hosts, h)
			}
		case "write":
			_, err = fmt.Fprintln(h, w[2])
		case "setarg":
			err = choose(func() error { return s.SetArg(w[2]) }, func(h *record.Host) error { return h.SetArg(w[2]) })
		case "on":
			err = s.On()
		case "off":
			err = choose(s.Off, (*record.Host).Off)
		case "detach":
			err = choose(s.Detach, (*record.Host).Detach)
		case "status":
			err = choose(s.Report, (*record.Host).Report)
		case "wait":
			if h.PID() > 0 {
				<-h.Done()
			}
		case "show":
			fmt.Printf("pid %d status %d log %s\n", h.PID(), h.Status(), h.LogFile())
			continue
		}
		fmt.Println(int(pcp.Code(err)))
	}
}

// theirDriver compiles testdata/record.c.
var theirDriver = sync.OnceValues(func() (string, error) {
	for _, path := range []string{"/usr/include/pcp/pmafm.h", "/usr/lib/libpcp_gui.so"} {
		if _, err := os.Stat(path); err != nil {
			return "", err
		}
	}
	dir, err := os.MkdirTemp("", "record")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "record")
	out, err := exec.Command("cc", "-o", path, "testdata/record.c", "-lpcp_gui", "-lpcp").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("cc: %w\n%s", err, out)
	}
	return path, nil
})

// driver returns the command that runs sessions, of ours or theirs.
func driver(t *testing.T, ours bool, env ...string) *exec.Cmd {
	t.Helper()
	path, err := os.Executable()
	if !ours {
		oracle.Require(t)
		if path, err = theirDriver(); err != nil {
			oracle.Missing(t, err.Error())
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path)
	cmd.Env = append(os.Environ(), env...)
	if ours {
		cmd.Env = append(cmd.Env, "RECORD_TEST=1")
	}
	return cmd
}

// fakeLogger keeps its arguments and its requests, and ends on request.
const fakeLogger = `#!/bin/sh
for a; do base=$a; done
for a; do
	[ "$last" = -x ] && { fd=$a; a=FD; }
	echo "$a"
	last=$a
done >"$base.args"
while read -r line; do
	echo "$line" >>"$base.said"
	case $line$1 in Q*) exit 3;; D*) exit 4;; '?--dead') exit 7; esac
done </dev/fd/$fd
echo EOF >>"$base.said"
`

// A left has the results and files of a session.
type left struct {
	Out    string            // results of calls
	Files  map[string]string // except the folio
	Folio  folio.Folio
	Replay string // the file for it
}

// session runs one session with loggers that are not.
func session(t *testing.T, ours bool, lines []string) left {
	t.Helper()
	dir, bin := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "pmlogger"), []byte(fakeLogger), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := driver(t, ours, "PCP_BINADM_DIR="+bin)
	cmd.Dir = dir
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	// The loggers have its standard error too, so that it ends with them.
	var text, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &text, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("ours %t: %v\n%s", ours, err, errs.String())
	}
	if errs.Len() > 0 {
		t.Errorf("ours %t: it says %s", ours, errs.String())
	}
	files := make(map[string]string)
	base := "??????"
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[name] = string(b)
		if m := regexp.MustCompile(`^(?:sub/)?(\w{6})[a-z]?\..*\.config$`).FindStringSubmatch(name); m != nil {
			base = m[1]
		}
		if m := regexp.MustCompile(`(?m)^Creator: viewer (\w{6})$`).FindStringSubmatch(string(b)); m != nil {
			base = m[1]
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	normal := strings.NewReplacer(dir, "DIR", base, "XXXXXX").Replace
	l := left{Files: make(map[string]string), Out: regexp.MustCompile(`pid [1-9]\d*`).ReplaceAllString(normal(text.String()), "pid N")}
	for name, text := range files {
		switch name = normal(name); filepath.Base(name) {
		case "foo":
			f, err := folio.Parse(strings.NewReader(normal(text)))
			if err != nil {
				t.Errorf("ours %t: folio: %v\n%s", ours, err, text)
			}
			l.Folio = f
		case "XXXXXX":
			l.Replay = text
		default:
			l.Files[name] = normal(text)
		}
	}
	return l
}

// draw returns a session of random lines, most of them in an order that makes sense.
func draw(r *rand.Rand) []string {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	lines := []string{"setup\t" + pick("foo", "sub/foo", "./foo", "sub/../foo") + "\tviewer\t" + pick("0", "1")}
	var first []string // argument of each host
	defaults, on := 0, false
	one := func() int { return r.IntN(len(first)+1) - 1 }
	// waits adds a wait for the end of a logger, since the time at which it is noticed is random
	// otherwise.
	waits := func(h int, dead bool) {
		for i := range first {
			if on && (h < 0 || h == i) && (!dead || first[i] == "--dead") {
				lines = append(lines, fmt.Sprintf("wait\t%d", i))
			}
		}
	}
	for range 8 + r.IntN(30) {
		switch k := r.IntN(20); {
		case k < 6 && !on:
			isDefault := min(r.IntN(3)/2, 1-defaults) // C forgets to refuse a second one
			defaults += isDefault
			lines = append(lines, fmt.Sprintf("add\t%s\t%d", pick("bozo", "local:", "bozo.example.com", "bozo"), isDefault))
			first = append(first, "")
		case k < 7 && on:
			lines = append(lines, "add\tgonzo\t0") // too late
		case k < 8 && !on && len(first) > 0:
			lines = append(lines, fmt.Sprintf("write\t%d\tlog mandatory on once x", r.IntN(len(first))))
		case k < 11:
			h, arg := one(), pick("-r", "--dead", "--dead", "-t", "5 sec")
			lines = append(lines, fmt.Sprintf("setarg\t%d\t%s", h, arg))
			for i := range first {
				if !on && first[i] == "" && (h < 0 || h == i) {
					first[i] = arg
				}
			}
		case k < 12:
			lines = append(lines, "on")
			on = on || len(first) > 0
		case k < 14:
			h := one()
			lines = append(lines, fmt.Sprintf("status\t%d", h))
			waits(h, true)
		case k < 16:
			h := one()
			lines = append(lines, fmt.Sprintf("%s\t%d", pick("off", "detach"), h))
			waits(h, false)
		case len(first) > 0:
			lines = append(lines, fmt.Sprintf("show\t%d", r.IntN(len(first))))
		}
	}
	return lines
}

// compareSession runs a session with our package and with the real library.
func compareSession(t *testing.T, lines []string) left {
	t.Helper()
	ours, theirs := session(t, true, lines), session(t, false, lines)
	// C forgets the directory of a folio whose name is relative.
	ours.Out = strings.ReplaceAll(ours.Out, "log DIR/sub/", "log DIR/")
	// C removes the file for the replay while it is written.
	replay := regexp.MustCompile(`^setup\t\S+\t\S+\t1`).MatchString(lines[0])
	if want := map[bool]string{true: "view\n"}[replay]; ours.Replay != want {
		t.Errorf("the file for the replay has %q, want %q", ours.Replay, want)
	}
	theirs.Replay = ours.Replay
	// Behind the default host C names hosts in another order.
	for _, f := range []*folio.Folio{&ours.Folio, &theirs.Folio} {
		if f.Created == "" {
			t.Errorf("the folio says %v", *f)
		}
		f.Created = ""
		if len(f.Archives) > 1 {
			slices.SortFunc(f.Archives[1:], func(a, b folio.Archive) int { return strings.Compare(a.Base, b.Base) })
		}
	}
	if len(lines) > 0 && !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "add") && strings.HasSuffix(l, "1") }) {
		// And without one their first is not ours.
		ours.Folio.Archives, theirs.Folio.Archives = sorted(ours.Folio.Archives), sorted(theirs.Folio.Archives)
	}
	if diff := cmp.Diff(theirs, ours); diff != "" {
		t.Errorf("%s\n(-theirs +ours):\n%s", strings.Join(lines, "\n"), diff)
	}
	return ours
}

func sorted(list []folio.Archive) []folio.Archive {
	slices.SortFunc(list, func(a, b folio.Archive) int { return strings.Compare(a.Base, b.Base) })
	return list
}

// TestOracleSessions runs random sessions with our package and with the real libpcp_gui, and
// compares what calls return, the requests to loggers, how they end, and which files there
// are.
func TestOracleSessions(t *testing.T) {
	oracle.Require(t)
	r := rand.New(rand.NewPCG(longtest.Seed(t), 1))
	for range longtest.N(40, 1000) {
		if compareSession(t, draw(r)); t.Failed() {
			return
		}
	}
	many := []string{"setup\tfoo\tviewer\t1"}
	for range 29 {
		many = append(many, "add\tbozo\t0")
	}
	if l := compareSession(t, append(many, "on", "off\t-1")); !strings.Contains(l.Out, fmt.Sprintf("\n%d\n", -int(syscall.EEXIST))) {
		t.Errorf("one host 29 times:\n%s", l.Out)
	}
}

// TestSecondDefault adds two default hosts, which C forgets to refuse, and leaves nothing.
func TestSecondDefault(t *testing.T) {
	dir := t.TempDir()
	s, err := record.Setup(filepath.Join(dir, "foo"), record.Config{Creator: "viewer", Replay: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.AddHost("bozo", true); err != nil {
		t.Fatal(err)
	}
	if _, err := s.AddHost("gonzo", true); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("a second default host: %v", err)
	}
	if _, err := record.Setup(s.Folio(), record.Config{Creator: "viewer"}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("the same folio: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("there is %v, %v", left, err)
	}
	if err := s.On(); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("On after Close: %v", err)
	}
}

// TestNames has names that a folio or the protocol cannot hold.
func TestNames(t *testing.T) {
	dir := t.TempDir()
	bad := func(err error) {
		t.Helper()
		if !errors.Is(err, syscall.EINVAL) {
			t.Errorf("it is %v", err)
		}
	}
	for _, name := range []string{"", "a b", "a\n", "a\x00", strings.Repeat("a", 5000)} {
		_, err := record.Setup(filepath.Join(dir, "foo"), record.Config{Creator: name})
		bad(err)
	}
	_, err := record.Setup(filepath.Join(dir, "f\no"), record.Config{Creator: "viewer"})
	bad(err)
	s, err := record.Setup(filepath.Join(dir, "foo"), record.Config{Creator: "viewer", Logger: "/no/such/logger"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, name := range []string{"", "a b", "a\tb"} {
		_, err = s.AddHost(name, false)
		bad(err)
	}
	h, err := s.AddHost("unix:/../x", false)
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Dir(h.Archive()) != dir {
		t.Errorf("the archive is %s", h.Archive())
	}
	if err := s.On(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a logger that is not there: %v", err)
	}
	if err := h.Off(); !errors.Is(err, syscall.EINVAL) || h.PID() != 0 || h.Status() != -1 {
		t.Errorf("it is %d, %d, %v", h.PID(), h.Status(), err)
	}
	if _, err := h.Write([]byte("x")); err == nil {
		t.Error("it is too late for a configuration")
	}
}

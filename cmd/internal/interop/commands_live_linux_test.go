package interop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// liveCommand is a command of pcp, of which both programs get the same arguments.
type liveCommand struct {
	args []string
	same bool // the output does not change from one second to the next
	// rows is the number of lines to compare, 0 for all: processes and sockets come and
	// go.
	rows int
}

// figure is a number as tables have it.
var figure = regexp.MustCompile(`-?\b[0-9]+([.:][0-9]+)*[KMmg]?\b`)

// shape is the constant part of a text: its words and the number and places of
// numbers.
func (l *liveCommand) shape(text string) string {
	if l.same {
		return text
	}
	var b strings.Builder
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if l.rows > 0 && i >= l.rows {
			break
		}
		b.WriteString(strings.Join(strings.Fields(figure.ReplaceAllString(line, "N")), " ") + "\n")
	}
	return b.String()
}

// TestLiveCommands runs the real commands and ours at the same time against a real collector, and
// compares their output except the numbers, their messages and their exit status.
func TestLiveCommands(t *testing.T) {
	if oracle.Path("pcp-free") == "" {
		oracle.Missing(t, "no pcp-free")
	}
	const sockets = "/var/lib/pcp/pmdas/sockets/"
	cfg := oracle.Config{Agents: []string{"pmcd", "linux", "proc"}}
	if names, err := os.ReadFile(sockets + "pmns"); err == nil {
		cfg.Lines = []string{"sockets 154 pipe binary " + sockets + "pmdasockets -d 154"}
		cfg.PMNS = "#define SOCKETS 154\nroot {\n\tnetwork\n}\n" + string(names)
	}
	d := oracle.StartPMCD(t, cfg)
	self := fmt.Sprint(os.Getpid())
	list := []liveCommand{
		{args: []string{"pmiostat", "-s", "2", "-t", "0.3"}},
		{args: []string{"pcp-iostat", "-s", "2", "-t", "0.3", "-x", "t"}},
		{args: []string{"pcp-iostat", "-s", "1", "-t", "0.3", "-G", "sum", "-P", "0"}},
		{args: []string{"pcp-vmstat", "0.3", "3"}},
		{args: []string{"pcp-mpstat", "-s", "2", "-t", "0.3"}},
		{args: []string{"pcp-mpstat", "-s", "2", "-t", "0.3", "-P", "ALL"}},
		{args: []string{"pcp-mpstat", "-s", "2", "-t", "0.3", "-A"}},
		{args: []string{"pcp-free"}},
		{args: []string{"pcp-free", "-lotw", "-s", "0.2", "-c", "2"}},
		{args: []string{"pcp-uptime"}},
		{args: []string{"pcp-numastat"}},
		{args: []string{"pcp-ipcs", "-l"}, same: true},
		{args: []string{"pcp-ipcs", "-u"}},
		{args: []string{"pcp-tapestat", "-s", "1", "-t", "0.3"}},
		{args: []string{"pcp-ss", "-a"}, rows: 2},
		{args: []string{"pcp-ss", "-l", "-t", "-e", "-m", "-i"}, rows: 2},
		{args: []string{"pcp-ps", "-p", self, "-t", "0.3"}},
		{args: []string{"pcp-ps", "-o", "pid,ppid,uname,tty,rss,vsize,wchan,cls,pri", "-t", "0.3"}, rows: 2},
		{args: []string{"pcp-pidstat", "-p", self, "-s", "3", "-t", "0.3"}},
		{args: []string{"pcp-pidstat", "-p", self, "-r", "-s", "2", "-t", "0.3"}},
		{args: []string{"pcp-pidstat", "-p", self, "-k", "-l", "-s", "2", "-t", "0.3"}},
	}
	env := slices.Concat(oracle.Env(), d.Env, []string{"PCP_HOST=" + d.Unix})
	free := make(chan struct{}, 4)
	for _, l := range list {
		t.Run(strings.Join(l.args[:1], " "), func(t *testing.T) {
			t.Parallel()
			free <- struct{}{}
			defer func() { <-free }()
			var want, got twin.Result
			for range 5 {
				var wg sync.WaitGroup
				wg.Go(func() { want = runLive(t, env, oracle.Path(l.args[0]), l.args[1:]) })
				got = runLive(t, env, twin.Tool(t, l.args[0]), l.args[1:])
				wg.Wait()
				// The real pcp-ss and pcp-ps do not expect a socket or a process to appear or vanish between
				// two of their requests.
				if !bytes.Contains(want.Err, []byte("Traceback (most recent call last)")) {
					break
				}
			}
			a, b := l.shape(string(want.Out)), l.shape(string(got.Out))
			if a != b {
				t.Errorf("%q: %s", l.args, twin.FirstDifference([]byte(a), []byte(b)))
			}
			if !bytes.Equal(want.Err, got.Err) || want.Status != got.Status {
				t.Errorf("%q: status %d %q, want %d %q", l.args, got.Status, got.Err, want.Status, want.Err)
			}
		})
	}
}

func runLive(t *testing.T, env []string, path string, args []string) twin.Result {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = env
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		if _, ok := errors.AsType[*exec.ExitError](err); !ok {
			t.Errorf("%s: %v", path, err)
		}
	}
	return twin.Result{Out: out.Bytes(), Err: errs.Bytes(), Status: cmd.ProcessState.ExitCode()}
}

// TestInterruptedCommands sends signals to commands that print again and again: both programs end with the same
// status, without a message.
func TestInterruptedCommands(t *testing.T) {
	if oracle.Path("pcp-free") == "" {
		oracle.Missing(t, "no pcp-free")
	}
	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "linux", "proc"}})
	env := slices.Concat(oracle.Env(), d.Env, []string{"PCP_HOST=" + d.Unix, "PCP_SAMPLES=1000", "PYTHONUNBUFFERED=1"})
	for _, args := range [][]string{
		{"pmiostat", "-t", "0.1"}, {"pcp-mpstat", "-t", "0.1"}, {"pcp-free", "-s", "0.1"}, {"pcp-pidstat", "-t", "0.1"}, {"pcp-ps", "-e"},
	} {
		for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
			want, wantErr := interrupted(t, env, oracle.Path(args[0]), args[1:], sig)
			got, gotErr := interrupted(t, env, twin.Tool(t, args[0]), args[1:], sig)
			if got != want || gotErr != wantErr {
				t.Errorf("%q, %s: %s %q, want %s %q", args, sig, got, gotErr, want, wantErr)
			}
		}
	}
}

// interrupted sends a signal to a program when it has printed something, and returns how it ends.
func interrupted(t *testing.T, env []string, path string, args []string, sig syscall.Signal) (state, errs string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = env
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 4096)
	if _, err := out.Read(buf); err != nil {
		t.Errorf("%s prints nothing: %v", path, err)
	}
	if err := cmd.Process.Signal(sig); err != nil {
		t.Error(err)
	}
	for err == nil {
		_, err = out.Read(buf)
	}
	await.Exit(t, cmd) // ProcessState has the result
	return cmd.ProcessState.String(), stderr.String()
}

//go:build linux

package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A Command is a program that one side runs from its start to its end.
type Command struct {
	Args []string // the program and its arguments
	Env  []string // in addition to this program's, such as NAME=VALUE

	// Output is the base name of an archive that the command writes, "" if it prints. Its files are removed after each run.
	Output string
}

// Sample runs the command, with its output going nowhere. The processor time is that of the command and of all
// processes that it waited for.
func (c Command) Sample(ctx context.Context) (Sample, error) {
	var stderr bytes.Buffer
	cmd := c.command(ctx, nil, &stderr) // the null device, without a pipe in between
	begin := time.Now()
	err := cmd.Run()
	wall := time.Since(begin)
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", c, err, bytes.TrimSpace(stderr.Bytes()))
	}
	if err := errors.Join(err, c.removeOutput()); err != nil {
		return Sample{}, err
	}
	return Sample{CPU: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), Wall: wall}, nil
}

// WriteOutput runs the command with its output going to w, and returns its largest resident set in bytes. The archive that it
// writes stays. The run is slower than those of [Command.Sample], since the command is traced.
func (c Command) WriteOutput(ctx context.Context, w io.Writer) (rss int64, err error) {
	runtime.LockOSThread() // which is the tracer
	defer runtime.UnlockOSThread()
	var stderr bytes.Buffer
	cmd := c.command(ctx, w, &stderr)
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("%s: %w", c, err)
	}
	rss, err = peak(cmd.Process.Pid)
	if werr := cmd.Wait(); werr != nil {
		return 0, fmt.Errorf("%s: %w: %s", c, werr, bytes.TrimSpace(stderr.Bytes()))
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", c, err)
	}
	return rss, nil
}

// peak has a traced process run to its end and returns the largest resident set that it had in its last program. That of getrusage
// includes the copy of this program that the process was at first.
func peak(pid int) (rss int64, err error) {
	for first := true; ; first = false {
		var status unix.WaitStatus
		if _, err := unix.Wait4(pid, &status, unix.WALL, nil); errors.Is(err, unix.EINTR) {
			continue
		} else if err != nil {
			return 0, fmt.Errorf("trace: %w", err)
		}
		if !status.Stopped() {
			return 0, errors.New("trace: it ended unseen")
		}
		if first {
			if err := unix.PtraceSetOptions(pid, unix.PTRACE_O_TRACEEXIT|unix.PTRACE_O_EXITKILL); err != nil {
				return 0, fmt.Errorf("trace: %w", err)
			}
		}
		if status.TrapCause() == unix.PTRACE_EVENT_EXIT {
			rss, err = highWater(pid)
			return rss, errors.Join(err, unix.PtraceDetach(pid))
		}
		deliver := 0 // a signal for the process; those of tracing are not
		if s := status.StopSignal(); s != unix.SIGTRAP {
			deliver = int(s)
		}
		if err := unix.PtraceCont(pid, deliver); err != nil {
			return 0, fmt.Errorf("trace: %w", err)
		}
	}
}

// highWater returns the largest resident set of a process so far, in bytes.
func highWater(pid int) (int64, error) {
	path := fmt.Sprintf("/proc/%d/status", pid)
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "VmHWM:" {
			kib, err := strconv.ParseInt(f[1], 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("%s: no VmHWM", path)
}

// String returns the words of the command.
func (c Command) String() string { return strings.Join(c.Args, " ") }

func (c Command) command(ctx context.Context, stdout, stderr io.Writer) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...)
	cmd.Env = append(os.Environ(), c.Env...)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return cmd
}

func (c Command) removeOutput() error {
	if c.Output == "" {
		return nil
	}
	return RemoveArchive(c.Output)
}

// RemoveArchive removes the files of an archive, if there are any.
func RemoveArchive(base string) error {
	for _, part := range []string{".0", ".meta", ".index"} {
		if err := os.Remove(base + part); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}

// ReadFiles returns a floor that reads the files and does nothing with their bytes.
func ReadFiles(paths []string) func(context.Context) (Sample, error) {
	return func(context.Context) (Sample, error) {
		buf := make([]byte, 1<<20)
		return OnThread(func() error {
			for _, p := range paths {
				if err := move(p, "", buf); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// CopyFiles returns a floor that reads the files and writes their bytes to one other, which it removes.
func CopyFiles(paths []string, to string) func(context.Context) (Sample, error) {
	return func(context.Context) (Sample, error) {
		buf := make([]byte, 1<<20)
		sample, err := OnThread(func() error {
			for _, p := range paths {
				if err := move(p, to, buf); err != nil {
					return err
				}
			}
			return nil
		})
		if len(paths) == 0 {
			return sample, err
		}
		if rerr := os.Remove(to); err == nil {
			err = rerr
		}
		return sample, err
	}
}

// move reads a file, and writes its bytes to the end of another, unless that is "".
func move(from, to string, buf []byte) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out := io.Discard
	if to != "" {
		f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return err
		}
		defer f.Close()
		out = f
	}
	for {
		n, err := in.Read(buf)
		if n > 0 {
			if _, err := out.Write(buf[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// OnThread calls do on a thread of its own and returns the time of that thread.
func OnThread(do func() error) (Sample, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cpu, begin := threadTime(), time.Now()
	err := do()
	return Sample{CPU: threadTime() - cpu, Wall: time.Since(begin)}, err
}

// threadTime returns the processor time of this thread. That of getrusage grows in ticks.
func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

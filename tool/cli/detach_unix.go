//go:build unix

package cli

import (
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Detach starts this program again with the same arguments, as a daemon: in a session of
// its own and away from the terminal. It returns the exit status of this process.
func Detach(env *Env) int { return detach(env, nil) }

// readyFile is the value of Detached in a daemon that is waited for: the file that it closes when it is ready.
const readyFile = "3"

// DetachUntilReady is Detach, but returns when the daemon has called TellReady, has ended, or takes too long.
func DetachUntilReady(env *Env) int {
	r, w, err := os.Pipe()
	if err != nil {
		return env.Fatalf("cannot become a daemon: %s", ErrText(err))
	}
	defer r.Close()
	status := detach(env, w)
	w.Close()
	r.SetReadDeadline(time.Now().Add(readyPatience))
	r.Read(make([]byte, 1)) // its end is what is waited for
	return status
}

// readyPatience is how long a daemon may take until it is ready, for those who wait.
const readyPatience = 10 * time.Second

// TellReady says that this daemon is ready, if the program that started it waits for that.
func TellReady(env *Env) {
	if env.Getenv(Detached) == readyFile {
		os.Unsetenv(Detached)
		os.NewFile(3, "ready").Close()
	}
}

func detach(env *Env, ready *os.File) int {
	path, err := os.Executable()
	if err != nil {
		return env.Fatalf("cannot become a daemon: %s", ErrText(err))
	}
	cmd := exec.Command(path)
	cmd.Args = os.Args // the name chooses the command
	value := "1"
	if ready != nil {
		cmd.ExtraFiles, value = []*os.File{ready}, readyFile
	}
	cmd.Env = append(os.Environ(), Detached+"="+value)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Stderr = os.Stderr // until it runs, see Settle
	if err := cmd.Start(); err != nil {
		return env.Fatalf("cannot become a daemon: %s", ErrText(err))
	}
	return 0
}

// Settle has a daemon's log take the place of the standard error that it began
// with, since a parent that reads that to its end waits for it.
func Settle(log *os.File) error { return unix.Dup2(int(log.Fd()), int(os.Stderr.Fd())) }

package sleep

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

func pauseEnv(args ...string) *cli.Env {
	return &cli.Env{
		Name: "pmpause", Args: args, Command: PauseCommand, Stdout: new(bytes.Buffer), Stderr: new(bytes.Buffer),
		Getenv: func(string) string { return "" },
	}
}

// TestPause sends signals to this process, all of which pmpause catches while it
// runs.
func TestPause(t *testing.T) {
	for _, last := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT} {
		done := make(chan int)
		go func() { done <- PauseCommand.Run(context.Background(), pauseEnv("whatever")) }()
		time.Sleep(50 * time.Millisecond) // it has to be waiting
		for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGALRM} {
			syscall.Kill(os.Getpid(), sig)
		}
		select {
		case status := <-done:
			t.Fatalf("it ended with %d after signals that do nothing", status)
		case <-time.After(100 * time.Millisecond):
		}
		syscall.Kill(os.Getpid(), last)
		if status := <-done; status != 0 {
			t.Errorf("%v: status %d", last, status)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if status := PauseCommand.Run(ctx, pauseEnv()); status != 0 {
		t.Errorf("cancelled: status %d", status)
	}
}

// TestNote checks that -w and its text have no effect.
func TestNote(t *testing.T) {
	f := func(want int, args ...string) {
		t.Helper()
		env := pauseEnv(args...)
		env.Name, env.Command = "pmsleep", Command
		if status := Command.Run(context.Background(), env); status != want {
			t.Errorf("pmsleep %q: status %d, want %d", args, status, want)
		}
	}
	f(0, "-w", "until the disk is ready", "0.01")
	f(0, "-wready", "0.01")
	f(1, "-w", "0.01")
	f(1, "-w")
	f(1, "-w", "ready", "0.01", "0.01")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, args := range [][]string{{"-w", "ready"}, {"-wready"}} {
		env := pauseEnv(args...)
		if env.Name = "pcp pause"; PauseCommand.Run(ctx, env) != 0 {
			t.Errorf("pcp pause %q: %s", args, env.Stderr)
		}
	}
}

// TestPauseChildren checks that it ends with the last child.
func TestPauseChildren(t *testing.T) {
	done := make(chan int)
	go func() { done <- PauseCommand.Run(context.Background(), pauseEnv()) }()
	time.Sleep(50 * time.Millisecond)
	cmd := exec.Command("sleep", "0.1")
	if err := cmd.Start(); err != nil {
		t.Skip("SKIPPED: no sleep to run:", err)
	}
	select {
	case status := <-done:
		if status != 0 {
			t.Errorf("status %d", status)
		}
	case <-time.After(10 * time.Second):
		t.Error("it goes on without children")
	}
}

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

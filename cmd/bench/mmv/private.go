package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// private calls run in a process with a configuration of PCP of its own, so
// that nothing appears among the metrics of the machine. speed reads it before
// main begins: therefore the process.
func private(run func(dir string) int) int {
	if dir := os.Getenv("MMVBENCH_DIR"); dir != "" {
		return run(dir)
	}
	status, err := again()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mmv:", err)
		return 1
	}
	return status
}

// again runs this program once more.
func again() (int, error) {
	dir, err := os.MkdirTemp("", "mmvbench")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	if err := os.Mkdir(filepath.Join(dir, "mmv"), 0o755); err != nil {
		return 0, err
	}
	conf := filepath.Join(dir, "pcp.conf")
	if err := os.WriteFile(conf, []byte("PCP_TMP_DIR="+dir+"\nPCP_RUN_DIR="+dir+"\n"), 0o644); err != nil {
		return 0, err
	}
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(self, os.Args[1:]...)
	cmd.Env = append(os.Environ(), "MMVBENCH_DIR="+dir, "PCP_CONF="+conf, "PCP_TMP_DIR="+dir, "PCP_DIR=/")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	return 0, err
}

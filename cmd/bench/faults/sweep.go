//go:build linux

package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// guard starts a process that sweeps a directory if this program ends without doing it, as when it is killed. stop ends it.
func guard(self, dir string) (stop func(), err error) {
	cmd := exec.Command(self, workerArg, "sweep", dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // not for signals of the terminal
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return func() {
		in.Close()
		cmd.Wait()
	}, nil
}

// sweep waits for the end of the standard input, and removes all that is left of faults below a directory.
func sweep(dir string) error {
	if !strings.HasPrefix(filepath.Base(dir), dirPrefix) {
		return errors.New("not a directory of faults: " + dir)
	}
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	if _, err := os.Stat(dir); err != nil {
		return nil // all was removed
	}
	time.Sleep(time.Second) // the workers end with their program
	for _, device := range loopsBelow(dir) {
		exec.Command("swapoff", device).Run()
		exec.Command("losetup", "-d", device).Run()
	}
	for _, state := range groupFiles("freezer.state") {
		_ = os.WriteFile(state, []byte("THAWED"), 0o644)
	}
	for range 50 {
		left := mountsBelow(dir)
		for _, at := range left {
			exec.Command("fsfreeze", "-u", at).Run()
			exec.Command("umount", at).Run()
		}
		groups := groupFiles("cgroup.procs")
		for _, file := range groups {
			end(file)
			os.Remove(filepath.Dir(file))
		}
		if len(left)+len(groups) == 0 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if len(mountsBelow(dir)) > 0 {
		return errors.New("still mounted: " + dir)
	}
	return os.RemoveAll(dir)
}

// end ends the processes of a control group.
func end(file string) {
	b, err := os.ReadFile(file)
	if err != nil {
		return
	}
	for text := range strings.FieldsSeq(string(b)) {
		if pid, err := strconv.Atoi(text); err == nil && pid > 1 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// mountsBelow returns the mount points below a directory, the last mount first.
func mountsBelow(dir string) []string {
	f, err := os.Open("/proc/self/mounts")
	if err != nil {
		return nil
	}
	defer f.Close()
	var list []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) > 1 && strings.HasPrefix(fields[1], dir+"/") {
			list = append(list, fields[1])
		}
	}
	slices.Reverse(list)
	return list
}

// loopsBelow returns the loop devices of files below a directory.
func loopsBelow(dir string) []string {
	files, _ := filepath.Glob("/sys/block/loop*/loop/backing_file")
	var list []string
	for _, file := range files {
		if b, err := os.ReadFile(file); err == nil && strings.HasPrefix(string(b), dir+"/") {
			list = append(list, "/dev/"+strings.Split(file, "/")[3])
		}
	}
	return list
}

// groupFiles returns a file of each control group of faults.
func groupFiles(name string) []string {
	list, _ := filepath.Glob("/sys/fs/cgroup/*/" + groupName + "/" + name)
	second, _ := filepath.Glob("/sys/fs/cgroup/" + groupName + "/" + name)
	return append(list, second...)
}

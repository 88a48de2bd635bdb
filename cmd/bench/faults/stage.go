//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func refused(why string) func(*site) error { return func(*site) error { return skip(why) } }

// both stages two faults.
func both(a, b func(*site) error) func(*site) error {
	return func(s *site) error {
		if err := a(s); err != nil {
			return err
		}
		return b(s)
	}
}

func needsRoot() error {
	if os.Geteuid() != 0 {
		return skip("it requires root")
	}
	return nil
}

// start starts a command, which ends with the fault.
func (s *site) start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	s.after(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
	})
	return nil
}

// command returns the command of a worker, in a control group if that is not "".
func (s *site) command(group, kind string, args ...string) *exec.Cmd {
	cmd := exec.Command(s.self, append([]string{workerArg, kind}, args...)...)
	cmd.Env = append(os.Environ(), groupEnv+"="+group)
	return cmd
}

func worker(group, kind string) func(*site) error {
	return func(s *site) error { return s.start(s.command(group, kind, s.dir)) }
}

// ready stages a fault, and waits until its worker has completed it.
func ready(stage func(*site) error) func(*site) error {
	return func(s *site) error {
		if err := stage(s); err != nil {
			return err
		}
		for range 600 {
			if _, err := os.Stat(filepath.Join(s.dir, readyFile)); err == nil {
				return nil
			}
			time.Sleep(100 * time.Millisecond)
		}
		return skip("the fault is not complete after a minute")
	}
}

func shell(script string) func(*site) error {
	return func(s *site) error { return s.start(exec.Command("nice", "sh", "-c", script)) }
}

// group makes a control group and returns the file for its processes. Both versions of control groups are known.
func (s *site) group(controller string, settings map[string]string) (string, error) {
	if err := needsRoot(); err != nil {
		return "", err
	}
	root := filepath.Join("/sys/fs/cgroup", controller)
	if _, err := os.Stat(root); err != nil {
		root = "/sys/fs/cgroup"
		if _, err := os.Stat(filepath.Join(root, "cgroup.controllers")); err != nil {
			return "", skip("there is no control group for " + controller)
		}
		settings = second(settings)
	}
	dir := filepath.Join(root, groupName)
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return "", skip("no control group can be made: " + err.Error())
	}
	s.after(func() {
		for range 50 {
			if err := os.Remove(dir); err == nil || errors.Is(err, os.ErrNotExist) {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
	for name, value := range settings {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(value), 0o644); err != nil {
			return "", skip(fmt.Sprintf("%s cannot be set: %v", name, err))
		}
	}
	return filepath.Join(dir, "cgroup.procs"), nil
}

// second returns settings for version 2 of control groups.
func second(settings map[string]string) map[string]string {
	list := map[string]string{}
	for name, value := range settings {
		switch name {
		case "memory.limit_in_bytes":
			list["memory.max"] = value
		case "cpu.cfs_quota_us":
			list["cpu.max"] = value + " " + settings["cpu.cfs_period_us"]
		case "cpu.cfs_period_us": // with the quota
		case "pids.max":
			list[name] = value
		default:
			key := map[string]string{"write_bps_device": "wbps=", "read_bps_device": "rbps=", "write_iops_device": "wiops="}[strings.TrimPrefix(name, "blkio.throttle.")]
			device, rate, _ := strings.Cut(value, " ")
			list["io.max"] = device + " " + key + rate
		}
	}
	return list
}

// limited stages a worker in a control group with limits.
func limited(controller string, settings map[string]string, kind string) func(*site) error {
	return func(s *site) error {
		group, err := s.group(controller, settings)
		if err != nil {
			return err
		}
		return s.start(s.command(group, kind, s.dir))
	}
}

// image makes and mounts a file system of 16 MB in a file.
func (s *site) image(options ...string) (dir string, err error) {
	if err := needsRoot(); err != nil {
		return "", err
	}
	file := filepath.Join(s.dir, "image")
	dir = filepath.Join(s.dir, "pcp-faults")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	f, err := os.Create(file)
	if err != nil {
		return "", err
	}
	if err := errors.Join(f.Truncate(16<<20), f.Close()); err != nil {
		return "", err
	}
	if out, err := exec.Command("mkfs.ext4", append(append([]string{"-q", "-F"}, options...), file)...).CombinedOutput(); err != nil {
		return "", skip(fmt.Sprintf("mkfs.ext4: %v %s", err, out))
	}
	return dir, s.mount("-o", "loop", file, dir)
}

func (s *site) mount(args ...string) error {
	if out, err := exec.Command("mount", args...).CombinedOutput(); err != nil {
		return skip(fmt.Sprintf("mount: %v %s", err, strings.TrimSpace(string(out))))
	}
	dir := args[len(args)-1]
	s.after(func() {
		for range 50 {
			if exec.Command("umount", dir).Run() == nil {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
	return nil
}

// mounted fills a small file system with bytes, or with files.
func mounted(tmpfs, inodes bool) func(*site) error {
	return func(s *site) error {
		if err := needsRoot(); err != nil {
			return err
		}
		var dir string
		var err error
		if tmpfs {
			dir = filepath.Join(s.dir, "pcp-faults")
			if err = os.Mkdir(dir, 0o755); err == nil {
				err = s.mount("-t", "tmpfs", "-o", "size=16m,nr_inodes=1000", "tmpfs", dir)
			}
		} else {
			dir, err = s.image("-N", "1024")
		}
		if err != nil {
			return err
		}
		for i := range 100_000 {
			var b []byte
			if !inodes {
				b = make([]byte, 64<<10)
			}
			if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(i)), b, 0o644); err != nil {
				break
			}
		}
		return nil
	}
}

// slowDisk has six workers use a file system, on a device with a limit for their control group.
func slowDisk(limit, value, kind string) func(*site) error {
	return func(s *site) error {
		dir, err := s.image()
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "data"), make([]byte, 8<<20), 0o600); err != nil {
			return err
		}
		var st syscall.Stat_t
		if err := syscall.Stat(dir, &st); err != nil {
			return err
		}
		device := fmt.Sprintf("%d:%d", st.Dev>>8&0xfff, st.Dev&0xff|st.Dev>>12&0xfff00)
		group, err := s.group("blkio", map[string]string{"blkio.throttle." + limit: device + " " + value})
		if err != nil {
			return err
		}
		for range 6 {
			if err := s.start(s.command(group, kind, dir)); err != nil {
				return err
			}
		}
		return nil
	}
}

// filling has a worker fill a small file system while it is recorded.
func filling(s *site) error {
	dir, err := s.image()
	if err != nil {
		return err
	}
	return s.start(s.command("", "fill", dir))
}

// freezer stops six busy workers by their control group.
func freezer(s *site) error {
	if _, err := os.Stat("/sys/fs/cgroup/freezer"); err != nil {
		return skip("the control groups have no freezer of version 1")
	}
	group, err := s.group("freezer", nil)
	if err != nil {
		return err
	}
	for range 6 {
		if err := s.start(s.command(group, "web", s.dir)); err != nil {
			return err
		}
	}
	time.Sleep(time.Second) // until they have begun
	state := filepath.Join(filepath.Dir(group), "freezer.state")
	if err := os.WriteFile(state, []byte("FROZEN"), 0o644); err != nil {
		return skip("no freezer: " + err.Error())
	}
	s.after(func() { _ = os.WriteFile(state, []byte("THAWED"), 0o644) })
	return nil
}

// manyConnections makes many connections, and waits at the end until the kernel has forgotten them.
func manyConnections(s *site) error {
	s.after(func() {
		for range 90 {
			b, err := os.ReadFile("/proc/net/sockstat")
			if _, text, ok := strings.Cut(string(b), " tw "); err != nil || !ok {
				return
			} else if n, err := strconv.Atoi(strings.Fields(text)[0]); err != nil || n < 10_000 {
				return
			}
			time.Sleep(time.Second)
		}
	})
	return ready(worker("", "time-wait"))(s)
}

// linked stages a link, which ends with its worker.
func linked(kind string) func(*site) error {
	return func(s *site) error {
		if err := needsRoot(); err != nil {
			return err
		}
		if _, err := os.Stat("/dev/net/tun"); err != nil {
			return skip("the kernel has no interfaces of programs (/dev/net/tun)")
		}
		return ready(worker("", "link-"+kind))(s)
	}
}

// niced stages a worker of the lowest priority.
func niced(kind string) func(*site) error {
	return func(s *site) error {
		cmd := s.command("", kind, s.dir)
		cmd.Path, cmd.Args = "/usr/bin/nice", append([]string{"nice", "-n", "19"}, cmd.Args...)
		return s.start(cmd)
	}
}

// gently stages a worker that takes little.
func gently(kind string) func(*site) error {
	return func(s *site) error {
		cmd := s.command("", kind, s.dir)
		cmd.Env = append(cmd.Env, gentleEnv+"=1")
		return s.start(cmd)
	}
}

// bomb has shells in a control group start programs until there are as many as it may have. A shell ends at the limit, and is started again.
func bomb(limit, script string) func(*site) error {
	return func(s *site) error {
		group, err := s.group("pids", map[string]string{"pids.max": limit})
		if err != nil {
			return err
		}
		return s.start(exec.Command("sh", "-c", `while :; do sh -c "$0" sh "$1" 2>/dev/null; sleep 0.05; done`, `echo $$ >"$1"; `+script, group))
	}
}

// swapping has a control group swap to a file of 256 MB. Other processes do not swap as long as the machine has memory.
func swapping(s *site) error {
	group, err := s.group("memory", map[string]string{"memory.limit_in_bytes": "48M"})
	if err != nil {
		return err
	}
	file := filepath.Join(s.dir, "swap")
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	zero := make([]byte, 1<<20)
	for range 256 { // a file for swapping has no holes
		if _, err := f.Write(zero); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	if err := f.Close(); err != nil {
		return err
	}
	out, err := exec.Command("losetup", "--find", "--show", file).CombinedOutput()
	if err != nil {
		return skip(fmt.Sprintf("losetup: %v %s", err, out))
	}
	device := strings.TrimSpace(string(out))
	s.after(func() { exec.Command("losetup", "-d", device).Run() })
	for _, args := range [][]string{{"mkswap", device}, {"swapon", device}} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			return skip(fmt.Sprintf("%s: %v %s", args[0], err, bytes.TrimSpace(out)))
		}
	}
	s.after(func() { exec.Command("swapoff", device).Run() })
	return s.start(s.command(group, "touch", s.dir))
}

// frozen has six processes write to a file system that is frozen.
func frozen(s *site) error {
	dir, err := s.image()
	if err != nil {
		return err
	}
	if out, err := exec.Command("fsfreeze", "-f", dir).CombinedOutput(); err != nil {
		return skip(fmt.Sprintf("fsfreeze: %v %s", err, out))
	}
	for range 6 {
		if err := s.start(s.command("", "write", dir)); err != nil {
			return err
		}
	}
	s.after(func() { exec.Command("fsfreeze", "-u", dir).Run() })
	return nil
}

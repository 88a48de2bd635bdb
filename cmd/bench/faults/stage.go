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

// faults returns all faults and sound recordings. "idle" comes first.
func faults() []fault {
	cpu := []string{"cpu.process", "cpu.one", "cpu.busy"}
	return []fault{
		{name: "idle"},
		{name: "busy", want: cpu, who: "/faults", stage: worker("", "busy")},
		{name: "forks", want: []string{"processes.forks"}, stage: worker("", "forks")},
		{name: "leak", want: []string{"cgroup.memory-limit", "cgroup.memory", "memory.oom"}, who: "pcp-faults", stage: limited("memory", map[string]string{"memory.limit_in_bytes": "64M"}, "leak")},
		{name: "cache", want: []string{"cgroup.memory-limit", "cgroup.memory"}, who: "pcp-faults", stage: limited("memory", map[string]string{"memory.limit_in_bytes": "48M"}, "cache")},
		{name: "throttled", want: []string{"cgroup.cpu"}, who: "pcp-faults", stage: limited("cpu", map[string]string{"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "10000"}, "busy")},
		{name: "full", want: []string{"filesystem.full"}, stage: mounted(false, false)},
		{name: "full-tmpfs", want: []string{"filesystem.full", "tmpfs.full"}, who: "pcp-faults", stage: mounted(true, false)},
		{name: "inodes", held: true, want: []string{"filesystem.inodes"}, stage: mounted(false, true)},
		{name: "inodes-tmpfs", want: []string{"filesystem.inodes", "tmpfs.inodes"}, who: "pcp-faults", stage: mounted(true, true)},
		{name: "descriptors", want: []string{"files.process"}, who: "/faults", stage: descriptors},
		{name: "locks", want: []string{"locks.switches", "cpu.system"}, who: "/faults", stage: worker("", "locks")},
		{name: "listen", want: []string{"tcp.listen"}, stage: worker("", "listen")},
		{name: "udp", held: true, want: []string{"udp.buffers"}, stage: worker("", "udp")},
		{name: "slow-disk", want: []string{"tasks.blocked", "disk.slow", "disk.busy", "pressure.io"}, stage: slowDisk},
		{name: "frozen", held: true, want: []string{"tasks.blocked"}, who: "/faults", stage: frozen},
		{name: "softirq", want: []string{"cpu.irq", "cpu.system", "network.backlog"}, stage: worker("", "packets")},
		{name: "netem-loss", want: []string{"tcp.retransmits"}, stage: netem},
		{name: "busy-and-full", held: true, want: append([]string{"filesystem.full"}, cpu...), stage: both(worker("", "busy"), mounted(false, false))},
		{name: "throttled-and-listen", want: []string{"cgroup.cpu", "tcp.listen"}, stage: both(limited("cpu", map[string]string{"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "10000"}, "busy"), worker("", "listen"))},
		{name: "fork-bomb", want: []string{"processes.forks"}, stage: forkBomb},
		{name: "zombies", want: []string{"processes.defunct"}, stage: ready(worker("", "zombies"))},
		{name: "swap", want: []string{"memory.swapping", "cgroup.memory-limit", "cgroup.memory"}, who: "faults", stage: swapping},
		{name: "major-faults", held: true, want: []string{"memory.faults", "cgroup.memory-limit", "cgroup.memory"}, who: "faults", stage: limited("memory", map[string]string{"memory.limit_in_bytes": "32M"}, "mapped")},
		{name: "timers", held: true, want: []string{"cpu.interrupts", "locks.switches", "cpu.system"}, stage: worker("", "timers")},
		{name: "descriptors-and-full", held: true, want: []string{"files.process", "filesystem.full"}, stage: both(descriptors, mounted(false, false))},
		{name: "forks-and-throttled", want: []string{"processes.forks", "cgroup.cpu"}, stage: both(worker("", "forks"), limited("cpu", map[string]string{"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "10000"}, "busy"))},
		{name: "clock", stage: refused("it sets the clock of the whole machine")},
		{name: "steal", stage: refused("the hypervisor decides it")},
		{name: "interrupts", stage: refused("devices make them; softirq is their nearest relative")},
		{name: "sound-web", stage: worker("", "web")},
		{name: "sound-build", stage: shell("while :; do find /usr/share -name '*.gz' -size -20k 2>/dev/null | head -200 | xargs cat | gzip -d 2>/dev/null | gzip >/dev/null; sleep 0.3; done")},
		{name: "sound-backup", held: true, stage: shell("while :; do tar cf - /usr/share/doc 2>/dev/null | dd bs=64k count=100 of=/dev/null 2>/dev/null; sleep 0.3; done")},
	}
}

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

// descriptors requires a limit above that of the rule.
func descriptors(s *site) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	if limit.Max < manyFiles {
		return skip(fmt.Sprintf("a process may have %d files here", limit.Max))
	}
	return worker("", "descriptors")(s)
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
	dir := filepath.Join(root, "pcp-faults")
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
		case "pids.max":
			list[name] = value
		case "blkio.throttle.write_bps_device":
			device, rate, _ := strings.Cut(value, " ")
			list["io.max"] = device + " wbps=" + rate
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

// slowDisk has six processes write to a file system whose device is limited to 200 kB a second.
func slowDisk(s *site) error {
	dir, err := s.image()
	if err != nil {
		return err
	}
	var st syscall.Stat_t
	if err := syscall.Stat(dir, &st); err != nil {
		return err
	}
	device := fmt.Sprintf("%d:%d", st.Dev>>8&0xfff, st.Dev&0xff|st.Dev>>12&0xfff00)
	group, err := s.group("blkio", map[string]string{"blkio.throttle.write_bps_device": device + " 200000"})
	if err != nil {
		return err
	}
	for range 6 {
		if err := s.start(s.command(group, "write", dir)); err != nil {
			return err
		}
	}
	return nil
}

// forkBomb has shells that start two others each, at most 200 of them. They end at the limit, and are started again.
func forkBomb(s *site) error {
	group, err := s.group("pids", map[string]string{"pids.max": "200"})
	if err != nil {
		return err
	}
	const bomb = `echo $$ >"$1"; bomb() { bomb | bomb & }; bomb`
	cmd := exec.Command("sh", "-c", `while :; do sh -c "$0" sh "$1" 2>/dev/null; sleep 0.05; done`, bomb, group)
	return s.start(cmd)
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

// netem checks whether the kernel can lose packets.
func netem(s *site) error {
	out, err := exec.Command("unshare", "-n", "sh", "-c", "ip link set lo up && tc qdisc add dev lo root netem loss 5%").CombinedOutput()
	if err != nil {
		return skip("the kernel has no netem: " + strings.TrimSpace(string(out)))
	}
	return skip("a collector in its network name space is required; run the recorder there: ip netns exec")
}

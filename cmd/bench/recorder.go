//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/janitor"
)

const (
	linuxLine   = "linux 60 dso linux_init PMDAS/linux/pmda_linux.so"
	linuxDomain = 60
)

// realPMLogger is where the C recorder is.
const realPMLogger = "/usr/lib/pcp/bin/pmlogger"

// A recorder is a process that records.
type recorder struct {
	name string
	base string
	cmd  *exec.Cmd
	out  bytes.Buffer
}

// recorders has the recorders of both sides record all metrics of one collector of ours each
// second, with 0 and 1,000 processes in addition to those of the machine: the processor time
// of each, and the size of its output, before and after compression.
func (b *bench) recorders(ctx context.Context) error {
	for _, n := range []int{0, 1000} {
		if label := fmt.Sprintf("recorder.%d", n); b.wants(label) {
			if err := b.recordersOf(ctx, label, n); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

func (b *bench) recordersOf(ctx context.Context, label string, n int) error {
	if n > 0 {
		stop, err := sleepers(ctx, n)
		if err != nil {
			fmt.Printf("\n%s is left out: %v\n", label, err)
			return nil
		}
		defer stop()
	}
	p, err := b.startPair(ctx, label, []string{ownLine}, []string{ownLine, linuxLine, ourProcLine})
	if err != nil {
		return err
	}
	defer p.stop()
	dir, err := os.MkdirTemp("", "recorders")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	config, metrics, err := everything(ctx, p.ours, dir)
	if err != nil {
		return err
	}
	ours, err := filepath.Abs(filepath.Join(b.links, "pmlogger"))
	if err != nil {
		return err
	}
	if _, err := os.Stat(ours); err != nil {
		if ours, err = filepath.Abs(b.pcp); err != nil {
			return err
		}
	}
	var list []*recorder
	for name, program := range map[string]string{"C": realPMLogger, "ours": ours} {
		if _, err := os.Stat(program); err != nil {
			continue
		}
		r := &recorder{name: name, base: filepath.Join(dir, name)}
		args := []string{"-h", "unix:" + p.ours.sock, "-c", config, "-l", r.base + ".log", r.base}
		if filepath.Base(program) == "pcp" {
			args = append([]string{"logger"}, args...)
		}
		r.cmd = exec.CommandContext(ctx, program, args...)
		r.cmd.Env = append(os.Environ(), "PCP_TMP_DIR="+dir, "PCP_RUN_DIR="+dir, "PCP_ARCHIVE_VERSION=3", "LC_ALL=C")
		r.cmd.Stdout, r.cmd.Stderr = &r.out, &r.out
		if err := r.cmd.Start(); err != nil {
			return err
		}
		list = append(list, r)
	}
	stopped := false
	stop := func() error {
		if stopped {
			return nil
		}
		stopped = true
		var errs []error
		for _, r := range list {
			errs = append(errs, r.cmd.Process.Signal(syscall.SIGTERM))
			// The C one ends with an error if the signal finds it in a request.
			if err := r.cmd.Wait(); err != nil && r.cmd.ProcessState.ExitCode() > 0 && r.name != "C" {
				log, _ := os.ReadFile(r.base + ".log")
				errs = append(errs, fmt.Errorf("%s: %w\n%s%s", r.name, err, r.out.Bytes(), log))
			}
		}
		return errors.Join(errs...)
	}
	defer stop()
	// The first sample, with all metadata, is not representative of months.
	if err := pause(ctx, 5*time.Second); err != nil {
		return err
	}
	length := max(4*b.time, 10*time.Second)
	cpu := make(map[string]time.Duration)
	size := make(map[string]int64)
	for _, r := range list {
		cpu[r.name] = -cpuTime([]int{r.cmd.Process.Pid})
		size[r.name] = -fileSize(r.base + ".0")
	}
	if err := pause(ctx, length); err != nil {
		return err
	}
	for _, r := range list {
		cpu[r.name] += cpuTime([]int{r.cmd.Process.Pid})
		size[r.name] += fileSize(r.base + ".0")
		if r.cmd.Process.Signal(syscall.Signal(0)) != nil {
			return fmt.Errorf("%s has ended", r.name)
		}
	}
	rss := make(map[string]int)
	for _, r := range list {
		rss[r.name], _ = memory([]int{r.cmd.Process.Pid})
	}
	if err := stop(); err != nil {
		return err
	}
	fmt.Printf("\n%-14s %8s %6s %12s %12s %10s %10s %10s %9s\n", label, "metrics", "side", "cpu/second", "bytes/second", "all files", "as xz", "as zstd", "rss")
	packed := make(map[string]int64)
	for _, r := range list {
		all, xz, zstd, err := sizes(ctx, r.base)
		if err != nil {
			return err
		}
		packed[r.name] = zstd
		if r.name == "C" {
			packed[r.name] = xz // as pmlogger_daily of that version has it
		}
		fmt.Printf("%-14s %8d %6s %12v %12d %10d %10d %10d %6d KB\n", "", metrics, r.name,
			time.Duration(float64(cpu[r.name])/length.Seconds()).Round(time.Microsecond), int64(float64(size[r.name])/length.Seconds()), all, xz, zstd, rss[r.name])
	}
	if c := cpu["C"]; c > 0 {
		// A busy machine makes one or the other miss samples, so only figures per byte are
		// comparable.
		per := func(v int64, name string) float64 { return float64(v) / float64(max(size[name], 1)) }
		fmt.Printf("%-14s ours/C: cpu %.2f, cpu per byte %.2f, bytes %.3f, files as zstd to those of C as xz %.2f\n", "",
			float64(cpu["ours"])/float64(c), per(int64(cpu["ours"]), "ours")/per(int64(c), "C"), float64(size["ours"])/float64(size["C"]), float64(packed["ours"])/float64(packed["C"]))
	}
	return nil
}

// everything writes a configuration that records each second all metrics of the kernel and of
// processes. Derived metrics are left out: the C recorder fails on some of them.
func everything(ctx context.Context, s *server, dir string) (path string, metrics int, err error) {
	found, err := pmids(ctx, s, []string{"kernel", "mem", "swap", "disk", "network", "filesys", "vfs", "ipc", "rpc", "hinv", "proc"})
	if err != nil {
		return "", 0, err
	}
	var text strings.Builder
	text.WriteString("log mandatory on 1 sec {\n")
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if found[name].Domain() == linuxDomain || strings.HasPrefix(name, "proc.") {
			metrics++
			fmt.Fprintf(&text, "\t%s\n", name)
		}
	}
	text.WriteString("}\n")
	path = filepath.Join(dir, "config")
	return path, metrics, os.WriteFile(path, []byte(text.String()), 0o644)
}

func fileSize(path string) int64 {
	fi, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return fi.Size()
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// sizes returns the size of the files of an archive, as they are and compressed as by a janitor.
func sizes(ctx context.Context, base string) (plain, xz, zstd int64, err error) {
	files, err := archive.FindFiles(base)
	if err != nil {
		return 0, 0, 0, err
	}
	for _, path := range files.All() {
		plain += fileSize(path)
	}
	for _, format := range []janitor.Format{janitor.XZ, janitor.Zstd} {
		dir, err := os.MkdirTemp(filepath.Dir(base), "packed")
		if err != nil {
			return 0, 0, 0, err
		}
		for _, path := range files.All() {
			b, err := os.ReadFile(path)
			if err != nil {
				return 0, 0, 0, err
			}
			if err := os.WriteFile(filepath.Join(dir, filepath.Base(path)), b, 0o600); err != nil {
				return 0, 0, 0, err
			}
		}
		list, err := janitor.List(dir)
		if err != nil {
			return 0, 0, 0, err
		}
		for _, a := range list {
			if _, err := janitor.CompressArchive(ctx, a, format, false); err != nil {
				return 0, 0, 0, err
			}
		}
		if list, err = janitor.List(dir); err != nil {
			return 0, 0, 0, err
		}
		for _, a := range list {
			if format == janitor.XZ {
				xz += a.Size
			} else {
				zstd += a.Size
			}
		}
	}
	return plain, xz, zstd, nil
}

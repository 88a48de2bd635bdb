//go:build unix

package openmetrics

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const nonBlock = syscall.O_NONBLOCK

// Limits of what scripts print.
const (
	maxScript = 64 << 20
	maxStderr = 64 << 10
)

// runScript runs the script and returns its output. A script that belongs to another user runs as
// that user if the agent may do so, and otherwise is not run.
func (s *source) runScript(ctx context.Context, take func(int) error) ([]byte, error) {
	f, err := openRegular(s.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	as, err := s.allowed(info)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, s.path)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if as != nil {
		cmd.SysProcAttr.Credential = as
		cmd.Env = []string{} // not that of the agent
		for _, name := range []string{"PATH", "LANG", "LC_ALL", "TZ", "PCP_CONF", "PCP_DIR"} {
			if v := s.a.getenv(name); v != "" {
				cmd.Env = append(cmd.Env, name+"="+v)
			}
		}
	}
	if !s.trusted() {
		// Others can put another file in its place: run the file that was checked.
		cmd.Path = "/proc/self/fd/3"
		cmd.ExtraFiles = []*os.File{f}
	}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out, said := bounded{limit: maxScript, take: take}, bounded{limit: maxStderr, drop: true}
	cmd.Stdout, cmd.Stderr = &out, &said
	err = cmd.Run()
	for line := range strings.Lines(string(said.b)) {
		s.a.log.Info(strings.TrimSuffix(line, "\n"), "script", s.path)
	}
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s: still running after %v: %w", s.path, 2*s.a.timeout, ctx.Err())
	case err != nil:
		return nil, fmt.Errorf("%s: %w", s.path, err)
	}
	return out.b, nil
}

// bounded keeps written bytes, up to a limit. It embeds no bytes.Buffer, whose ReadFrom has no limit.
type bounded struct {
	b     []byte
	limit int
	drop  bool // the excess, instead of failing
	take  func(n int) error
}

func (b *bounded) Write(p []byte) (int, error) {
	if left := b.limit - len(b.b); len(p) > left {
		if !b.drop {
			return 0, fmt.Errorf("it prints more than %d bytes", b.limit)
		}
		b.b = append(b.b, p[:left]...)
		return len(p), nil
	}
	if b.take != nil {
		if err := b.take(len(p)); err != nil {
			return 0, err
		}
	}
	b.b = append(b.b, p...)
	return len(p), nil
}

// Errors of scripts.
var (
	errWritable = errors.New("not run: other users may write to it")
	errForeign  = errors.New("not run: it belongs to another user")
	errRootFile = errors.New("not run: it belongs to root, but other users may write to its folder")
)

// allowed reports whether the script may run, and as whom: nil means the agent's user.
func (s *source) allowed(info os.FileInfo) (*syscall.Credential, error) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil, errForeign
	}
	me := os.Geteuid()
	owner, mode := int(st.Uid), info.Mode().Perm()
	if mode&0o100 == 0 {
		return nil, fmt.Errorf("%s: its owner may not execute it", s.path)
	}
	if mode&0o002 != 0 || mode&0o020 != 0 && st.Gid != 0 && int(st.Gid) != os.Getegid() && st.Gid != st.Uid {
		return nil, errWritable
	}
	switch {
	case owner != 0 && owner != me:
		if me != 0 {
			return nil, errForeign
		}
		return &syscall.Credential{Uid: st.Uid, Gid: st.Gid}, nil
	case me == 0 && !s.trusted():
		return nil, errRootFile
	}
	return nil, nil
}

// trusted reports whether only root and the agent's user can put another file in the place of the
// script.
func (s *source) trusted() bool {
	for dir := filepath.Dir(s.path); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return false
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok || st.Uid != 0 && int(st.Uid) != os.Geteuid() {
			return false
		}
		if info.Mode().Perm()&0o002 != 0 || info.Mode().Perm()&0o020 != 0 && st.Gid != 0 && int(st.Gid) != os.Getegid() {
			return false
		}
		if dir == s.dir || len(dir) <= len(s.dir) {
			return true
		}
	}
}

package mmv

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/mmv"
)

// The header of a file, which the agent checks itself.
const (
	headerSize = 40
	tocSize    = 16
)

// load reads the definitions of a file. It reports whether the served metrics
// changed.
func (a *Agent) load(f *file, now time.Time) (changed bool) {
	var l *loaded
	var err error
	for try := 0; ; try++ {
		// It does not wait for a file that has been in flux for a while.
		if l, err = a.read(f); !errors.Is(err, mmv.ErrInFlux) || f.pending || try == fluxTries {
			break
		}
		f.sig = signature{} // that must not count
		if try < fluxTries/2 {
			runtime.Gosched()
		} else {
			time.Sleep(fluxPause)
		}
	}
	switch {
	case err == nil && l == nil:
		f.retry = now.Add(retryPause)
		return false // as it was
	case errors.Is(err, mmv.ErrInFlux):
		if !f.pending {
			f.pending, f.since = true, now
		}
		if f.cur != nil && now.Sub(f.since) < fluxGrace {
			return false
		}
		// A file without data is not worth a message.
		if text := err.Error(); strings.Contains(text, "g1=") {
			a.report(f, slog.LevelInfo, "%s", strings.TrimSuffix(text, ": "+mmv.ErrInFlux.Error()))
		}
		return a.drop(f)
	case err != nil:
		f.pending = false
		f.retry = now.Add(retryPause)
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errIrregular) {
			a.report(f, slog.LevelError, "%s", err)
		}
		return a.drop(f)
	}
	a.drop(f)
	f.cur, f.pending, f.stale = l, false, false
	if l.fd != nil {
		a.open++
	}
	a.reportProblems(f)
	return true
}

// A refusal is the reason why a file is not used, in the words of the C agent.
type refusal string

func (r refusal) Error() string { return string(r) }

func refuse(format string, args ...any) error { return refusal(fmt.Sprintf(format, args...)) }

// read reads a file: nil without an error means that it is not used and has not
// changed.
func (a *Agent) read(f *file) (*loaded, error) {
	fd, st, err := openRegular(f.path)
	if err != nil {
		if st != nil { // it exists, but is not accessible
			err = refuse("failed to open: %s", pcp.Code(err))
		}
		return nil, err
	}
	keep := false
	defer func() {
		if !keep {
			fd.Close()
		}
	}()
	sig := signature{dev: uint64(st.Dev), ino: st.Ino, size: st.Size, mtime: st.Mtim, ctime: st.Ctim}
	n, err := fd.ReadAt(sig.header[:], 0)
	if err != nil && err != io.EOF {
		return nil, refuse("failed to read: %s", pcp.Code(err))
	}
	if f.cur == nil && !f.pending && sig == f.sig {
		if pid := f.vanished(); pid == 0 || !f.dir.alive(pid) {
			return nil, nil
		}
	}
	f.sig = sig
	if n < headerSize {
		return nil, refuse("size %d too small, expecting at least %d", st.Size, headerSize)
	}
	l := &loaded{path: f.path, dev: uint64(st.Dev), ino: st.Ino, size: st.Size}
	if err := judge(sig.header[:], st.Size); err != nil {
		return nil, err
	}
	if l.def, err = mmv.NewFile(fd, st.Size); err != nil {
		return nil, err
	}
	l.order, l.generation = l.def.ByteOrder(), l.def.Generation
	if l.def.Flags&mmv.FlagProcess != 0 {
		l.pid = l.def.Process
		if l.pid != 0 && !f.dir.alive(l.pid) {
			return nil, refuse("owning process PID %d vanished", l.pid)
		}
	}
	if c := l.def.Cluster; c < 0 || c > mmv.MaxCluster {
		return nil, refuse("choose_cluster failed")
	}
	if a.open < a.maxOpen {
		keep, l.fd = true, fd
	}
	l.nameMetrics(a.prefix, f.name)
	return l, nil
}

// vanished returns the process that a refused file belongs to, 0 if it
// belongs to none.
func (f *file) vanished() int {
	h := f.sig.header[:]
	if mmv.Flags(binary.NativeEndian.Uint32(h[28:]))&mmv.FlagProcess == 0 {
		return 0
	}
	return int(int32(binary.NativeEndian.Uint32(h[32:])))
}

// judge makes the C agent's checks of a header, in its order.
func judge(h []byte, size int64) error {
	if string(h[:4]) != "MMV\x00" {
		if slices.Max(h) == 0 {
			return mmv.ErrInFlux // just created
		}
		return refuse("magic \"%s\" not \"MMV\" as expected", printable(h[:3]))
	}
	order := binary.ByteOrder(binary.NativeEndian)
	if v := order.Uint32(h[4:]); v > 1<<16 { // as mmv.NewFile decides it
		order = binary.BigEndian
		if binary.NativeEndian.Uint16([]byte{0, 1}) == 1 {
			order = binary.LittleEndian
		}
	}
	g1, g2 := order.Uint64(h[8:]), order.Uint64(h[16:])
	version, tocs := int32(order.Uint32(h[4:])), int32(order.Uint32(h[24:]))
	need := headerSize + int64(tocs)*tocSize
	switch {
	case version < mmv.Version1 || version > mmv.Version3:
		return refuse("version %d unsupported (current is %d)", version, mmv.Version1)
	case g1 == 0:
		return mmv.ErrInFlux
	case g1 != g2:
		return fmt.Errorf("generation in flux, g1=%d g2=%d: %w", g1, g2, mmv.ErrInFlux)
	case tocs < 2:
		return refuse("bad header.doc %d, expecting at least 2", tocs)
	case size < need:
		return refuse("bad total size %d, expecting %d", size, need)
	}
	return nil
}

// printable returns the part of b that can be logged, up to a NUL.
func printable(b []byte) string {
	var s strings.Builder
	for _, c := range b {
		if c == 0 {
			break
		}
		if c < ' ' || c > '~' {
			c = '?'
		}
		s.WriteByte(c)
	}
	return s.String()
}

// nameMetrics gives metrics their full names, and marks those that are not available.
func (l *loaded) nameMetrics(prefix, file string) {
	stem := prefix + "."
	if l.def.Flags&mmv.FlagNoPrefix == 0 {
		stem += file + "."
	}
	l.names = make([]string, len(l.def.Metrics))
	items := make(map[int]int, len(l.def.Metrics))
	for i := range l.def.Metrics {
		m := &l.def.Metrics[i]
		name := stem + m.Name
		first, twice := items[m.Item]
		if !twice {
			items[m.Item] = i
		}
		bad := strings.IndexFunc(name, func(r rune) bool {
			return r != '.' && r != '_' && (r > 'z' || r < '0' || r > '9' && r < 'A' || r > 'Z' && r < 'a')
		})
		var text string
		switch {
		case m.Name == "":
			text = fmt.Sprintf("invalid metric[%d] name start in %s, ignored", i, file)
		case bad >= 0:
			text = fmt.Sprintf("invalid metric[%d] name in %s (@%s), ignored", i, file, printable([]byte{name[bad]}))
		case m.Item < 0 || m.Item > mmv.MaxItem:
			text = fmt.Sprintf("invalid item %d (%s) in %s, ignored", uint32(m.Item), name, file)
		case twice:
			text = fmt.Sprintf("duplicate item %d - [%d] and [%d] %s, second will be ignored", m.Item, first, i, name)
		default:
			l.names[i] = name
			continue
		}
		if len(l.problems) < 32 {
			l.problems = append(l.problems, text)
		}
	}
}

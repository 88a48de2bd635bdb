package linux

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/go-pcp/pcp/internal/procfs"
)

// maxBandwidthFile is the number of bytes read of a bandwidth.conf.
const maxBandwidthFile = 1 << 20

// A bandwidthFile is a bandwidth.conf, which an administrator fills with the
// bandwidth in Mbyte/s that was measured for each node:
//
//	Version:1.0
//	node0:25600
//
// It is read again when it has changed.
type bandwidthFile struct {
	of   map[string]float64 // by the name of the node
	mod  time.Time
	size int64
	gone bool // it was missing or unreadable
}

// read reads the file again if it has changed. It logs an error once.
func (f *bandwidthFile) read(h *host, t *topology) {
	path := h.cfg.Bandwidth
	if path == "" {
		return
	}
	st, err := os.Stat(path)
	if err == nil && !st.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		if !f.gone && !errors.Is(err, fs.ErrNotExist) {
			h.log.Warn("cannot read the bandwidth of memory", "err", err)
		}
		*f = bandwidthFile{gone: true}
		return
	}
	if f.of != nil && st.ModTime().Equal(f.mod) && st.Size() == f.size {
		return
	}
	*f = bandwidthFile{mod: st.ModTime(), size: st.Size(), of: make(map[string]float64)}
	file, err := os.Open(path)
	if err != nil {
		h.log.Warn("cannot read the bandwidth of memory", "err", err)
		return
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxBandwidthFile))
	if err == nil {
		err = f.parse(text, t)
	}
	if err != nil {
		h.log.Warn("bandwidth of memory", slog.String("file", path), "err", err)
	}
}

// parse reads the lines up to the first invalid one, as in C; but here lines may be
// empty.
func (f *bandwidthFile) parse(text []byte, t *topology) error {
	version, n := false, 0
	for line := range procfs.Lines(text) {
		n++
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(string(line), ":")
		value = strings.TrimSpace(value)
		switch {
		case strings.HasPrefix(name, "Version"):
			if !strings.HasPrefix(value, "1.0") {
				return fmt.Errorf("line %d: version %q is not supported", n, value)
			}
			version = true
			continue
		case !version:
			return fmt.Errorf("line %d: the version must come first", n)
		case !ok:
			return fmt.Errorf("line %d: no colon", n)
		}
		known := false
		for _, node := range t.nodes {
			known = known || node.name == name
		}
		if !known {
			return fmt.Errorf("line %d: there is no node %q", n, name)
		}
		f.of[name], _, _ = procfs.Float([]byte(value))
	}
	return nil
}

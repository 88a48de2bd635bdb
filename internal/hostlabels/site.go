package hostlabels

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/go-pcp/pcp"
)

// A Site is the administrator's description of this host in files. It does not
// change.
type Site struct {
	Set         pcp.LabelSet
	HashMachine bool // the host's machine-id(5) must not be revealed, only a hash of it
}

// JSON returns the labels, or "" if there are none.
func (l *Site) JSON() string {
	if len(l.Set.Index) == 0 {
		return ""
	}
	return l.Set.JSON
}

// ReadSite reads the files of labels below dir: those of labels, which
// make labels of every context, and of labels/optional, which make optional
// ones. They are read in the order of their names; of labels with the same name
// the last remains. Names with a leading dot are passed over. A file that is
// wrong is logged and counts as absent. A directory that is not there is empty,
// where libpcp refuses requests for labels with ENOENT.
func ReadSite(dir string, log *slog.Logger) *Site {
	l := &Site{Set: pcp.LabelSet{Inst: pcp.InNull}}
	if dir == "" {
		return l
	}
	for _, d := range []struct {
		path  string
		flags pcp.LabelFlags
	}{
		{filepath.Join(dir, "labels"), pcp.LabelContext},
		{filepath.Join(dir, "labels", "optional"), pcp.LabelContext | pcp.LabelOptional},
	} {
		files, err := os.ReadDir(d.path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			log.Error("labels are not read", "err", err)
		}
		for _, f := range files {
			if strings.HasPrefix(f.Name(), ".") {
				continue
			}
			if err := l.add(filepath.Join(d.path, f.Name()), d.flags); err != nil {
				log.Error("labels ignored", "err", err)
			}
		}
	}
	path := filepath.Join(dir, "labels.conf")
	conf, err := readSmall(path, maxLabelsConf)
	if err == nil {
		l.HashMachine, err = parseLabelsConf(conf)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Error("setting ignored", "file", path, "err", err)
	}
	return l
}

// add merges the labels of one file. Directories are ignored.
func (l *Site) add(path string, flags pcp.LabelFlags) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil
	}
	text, err := readSmall(path, pcp.MaxLabelJSONLen-1)
	if err != nil {
		return err
	}
	if err := l.Set.Add(text, flags|pcp.LabelCompound); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for i := range l.Set.Index {
		// Labels of files have it in libpcp, whether or not a dot is in their names.
		l.Set.Index[i].Flags |= pcp.LabelCompound
	}
	return nil
}

// maxLabelsConf bounds labels.conf, which has one setting.
const maxLabelsConf = 1 << 16

// readSmall reads a regular file of up to limit bytes. Others, such as a FIFO
// without a writer, could keep the reader for ever.
func readSmall(path string, limit int) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s: not a file", path)
	}
	b, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err != nil {
		return "", err
	}
	if len(b) > limit {
		return "", fmt.Errorf("%s: more than %d bytes: %w", path, limit, pcp.ErrTooBig)
	}
	return string(b), nil
}

// parseLabelsConf reads the setting machineid_hash of the section [global],
// none or sha256. Like libpcp it stops at the first, and accepts any value
// that begins with a known one.
func parseLabelsConf(text string) (hashMachine bool, err error) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") && !strings.HasPrefix(line, "[global]") {
			break
		}
		value, ok := strings.CutPrefix(line, "machineid_hash")
		if !ok {
			continue
		}
		value = strings.TrimLeft(value, ":= \t")
		switch {
		case strings.HasPrefix(value, "sha256"):
			return true, nil
		case strings.HasPrefix(value, "none"):
			return false, nil
		}
		return false, fmt.Errorf("machineid_hash %q is neither none nor sha256", value)
	}
	return false, nil
}

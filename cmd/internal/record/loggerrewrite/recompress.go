package loggerrewrite

import (
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/housekeeping"
	"github.com/go-pcp/pcp/cmd/internal/tool/parts"
)

// A sum is a file of an archive and the checksum of its contents.
type sum struct {
	path string
	sum  [sha256.Size]byte
}

// sums reads the files of an archive.
func sums(base string) (list []sum, err error) {
	files, err := parts.Regular(base)
	if err != nil {
		return nil, err
	}
	for _, p := range files {
		s := sum{path: p.Path}
		f, err := os.Open(s.path)
		if err != nil {
			return nil, err
		}
		h := sha256.New()
		_, err = io.Copy(h, f)
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
		h.Sum(s.sum[:0])
		list = append(list, s)
	}
	return list, nil
}

// recompress compresses changed files that were compressed before.
func (r *rewriter) recompress(before, after []sum) {
	for _, s := range after {
		if slices.Contains(before, s) {
			continue
		}
		// pmlogrewrite leaves no file compressed.
		i := slices.IndexFunc(before, func(old sum) bool {
			return old.path == s.path || slices.Contains(suffixes, strings.TrimPrefix(old.path, s.path)) && strings.HasPrefix(old.path, s.path)
		})
		switch {
		case i < 0:
			r.verbosef(2, "new: %s", s.path)
		case before[i].path == s.path:
			r.verbosef(2, "changed: %s", s.path)
		default:
			old := before[i].path
			program := programFor(strings.TrimPrefix(old, s.path))
			how, err := housekeeping.FindCompressor(r.env, program)
			if err == nil {
				err = how.Compress(r.ctx, s.path, r.env.Stdout)
			}
			if err != nil {
				r.say("Warning: cannot recompress %s: %s", s.path, cli.FileErrText(err))
				continue
			}
			r.verbosef(2, "changed and recompressed: %s", old)
		}
	}
}

// programFor returns the program that compresses files of a suffix. As in the C script,
// .lzma becomes .xz, .bz becomes .bz2, and .Z and .z become .gz.
func programFor(suffix string) string {
	switch suffix {
	case ".xz", ".lzma":
		return "xz -0 --block-size=10MiB"
	case ".bz2", ".bz":
		return "bzip2"
	case ".zst":
		return "zstd"
	}
	return "gzip"
}

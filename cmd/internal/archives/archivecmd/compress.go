package archivecmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/archives/internal/check"
	"github.com/go-pcp/pcp/internal/zstdframes"
)

// xzBlock is the uncompressed size of a block of an .xz file: a reader expands one
// block at a time as needed.
const xzBlock = 4 << 20

// newCompressor returns a writer that compresses to w in the format of the suffix.
func newCompressor(w io.Writer, suffix string) (io.WriteCloser, error) {
	switch suffix {
	case ".xz":
		return xz.WriterConfig{BlockSize: xzBlock, DictCap: xzBlock, CheckSum: xz.CRC64}.NewWriter(w)
	case ".zst":
		return zstdframes.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedBetterCompression))
	case ".gz":
		return gzip.NewWriterLevel(w, gzip.BestCompression)
	}
	return plain{w}, nil
}

// plain compresses nothing.
type plain struct{ io.Writer }

func (plain) Close() error { return nil }

// copyFiles copies the files of an archive and recompresses them. The temporal index,
// which is small and often read, is not compressed.
func (c *conversion) copyFiles(files *archive.Files, base string, p *passed) error {
	return c.each(files.All(), p, func(path string) string {
		_, part, _ := archive.BaseName(path)
		return base + "." + part
	})
}

// compressAll compresses the files of an archive in place.
func (c *conversion) compressAll(base string, p *passed) error {
	list := check.Files(base)
	for i, path := range list {
		if strings.HasSuffix(path, ".index") {
			list = append(list[:i], list[i+1:]...)
			break
		}
	}
	if err := c.each(list, p, func(path string) string { return path }); err != nil {
		return err
	}
	for _, path := range list {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

// each copies files, several at a time.
func (c *conversion) each(list []string, p *passed, name func(string) string) error {
	type report struct {
		n   int64
		err error
	}
	reports := make(chan report)
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var g sync.WaitGroup
	for _, path := range list {
		to := name(path)
		suffix := c.how
		if strings.HasSuffix(to, ".index") {
			suffix = ""
		}
		g.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			err := copyAs(c.ctx, path, to+suffix, suffix, func(n int64) { reports <- report{n: n} })
			reports <- report{err: err}
		})
	}
	go func() {
		g.Wait()
		close(reports)
	}()
	var err error
	for r := range reports {
		p.add(r.n)
		if err == nil {
			err = r.err
		}
	}
	return err
}

// copyAs copies the contents of a file of an archive to a new file.
func copyAs(ctx context.Context, from, to, suffix string, done func(int64)) (err error) {
	in, err := archive.OpenFile(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := out.Close(); err == nil {
			err = cerr
		}
	}()
	w, err := newCompressor(out, suffix)
	if err != nil {
		return err
	}
	buf := make([]byte, 1<<20)
	for off := int64(0); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, rerr := in.ReadAt(buf, off)
		if _, err := w.Write(buf[:n]); err != nil {
			return fmt.Errorf("%s: %w", to, err)
		}
		off += int64(n)
		done(int64(n))
		if rerr == io.EOF {
			break
		}
		if rerr != nil {
			return fmt.Errorf("%s: %w", from, rerr)
		}
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("%s: %w", to, err)
	}
	return nil
}

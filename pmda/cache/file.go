package cache

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/internal/ctext"
	"github.com/go-pcp/pcp/internal/safefile"
)

// The file is text. This is part of the file format; do not change:
//
//	2 MODE MAXINST            MODE is 1 if free numbers are given again
//	INST TIME [KEY] NAME      TIME in seconds since 1970; [KEY] in hexadecimal, if any
//
// Version 1 has no MAXINST and no keys.

// maxLine is how long a line of the file may be.
const maxLine = 64 << 10

// DefaultDir returns where the files are in an installation: $PCP_VAR_DIR/config/pmda.
func DefaultDir(cfg *config.Config) string {
	return filepath.Join(cfg.Get("PCP_VAR_DIR"), "config", "pmda")
}

// Path returns the path of the file: the instance domain, in a directory.
func (c *Cache[T]) Path() string {
	dir := c.opts.Dir
	if dir == "" {
		dir = DefaultDir(config.Process())
	}
	return filepath.Join(dir, c.indom.String())
}

// Load adds the instances of the file, inactive, and returns how many the file
// has (PMDA_CACHE_LOAD). It ignores and logs an instance that contradicts the
// cache. If there is no file, as when an agent starts for the first time, it
// returns fs.ErrNotExist.
func (c *Cache[T]) Load() (n int, err error) {
	path := c.Path()
	f, err := safefile.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if n, err = c.read(f); err != nil {
		return n, fmt.Errorf("%s: %w", path, err)
	}
	return n, nil
}

func (c *Cache[T]) read(r io.Reader) (n int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxLine)
	s.Split(scanLine)
	for ; s.Scan(); n++ {
		if n == 0 {
			if err := c.header(s.Text()); err != nil {
				return 0, err
			}
			continue
		}
		if err := c.record(s.Text()); err != nil {
			return n - 1, fmt.Errorf("line %d: %w", n+1, err)
		}
	}
	if err := s.Err(); err != nil {
		return max(n-1, 0), fmt.Errorf("line %d: %w", n+1, err)
	}
	if n == 0 {
		c.opts.Log.Error("empty file of instances", "indom", c.indom.String())
		return 0, nil
	}
	return n - 1, nil
}

// scanLine is bufio.ScanLines, but a carriage return is part of the line.
func scanLine(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

func (c *Cache[T]) header(line string) error {
	bad := fmt.Errorf("illegal cache header record: %q: %w", line, pcp.ErrGeneric)
	words := strings.Fields(line)
	num := make([]int64, 3)
	for i := range num {
		if i >= len(words) {
			break
		}
		var err error
		if num[i], err = strconv.ParseInt(words[i], 10, 32); err != nil {
			return bad
		}
	}
	switch {
	case num[0] == 1 && len(words) >= 2:
		num[2] = maxInst
	case num[0] == 2 && len(words) >= 3:
	default:
		return bad
	}
	if num[1] < 0 || num[1] > 1 || num[2] < 0 {
		return bad
	}
	c.reuse, c.maxInst = num[1] == 1, int32(num[2])
	return nil
}

// record adds the instance of one line.
func (c *Cache[T]) record(line string) error {
	bad := fmt.Errorf("illegal record: %.100q: %w", line, pcp.ErrGeneric)
	inst, rest, ok := number(line)
	if !ok || inst > math.MaxInt32 {
		return bad
	}
	stamp, rest, ok := number(rest)
	if !ok {
		return bad
	}
	key := ""
	if in, after, ok := strings.Cut(strings.TrimPrefix(rest, "["), "]"); ok && rest[0] == '[' {
		// A name may begin with a bracket, too.
		if k, err := hex.DecodeString(in); err == nil && len(k) > 0 && strings.TrimLeft(after, " \t") != "" {
			key, rest = string(k), strings.TrimLeft(after, " \t")
		}
	}
	name := rest
	if name == "" {
		return bad
	}
	e := c.insts[int32(inst)]
	byName, same := c.find(name)
	switch {
	case e != nil && e == byName && same:
	case e != nil || byName != nil:
		if e == nil {
			e = byName
		}
		c.opts.Log.Warn("instance of the file ignored: another is in the cache",
			"indom", c.indom.String(), "inst", inst, "name", name, "cachedInst", e.Inst, "cachedName", e.Name)
		return nil
	default:
		var err error
		if e, err = c.insert(name, int32(inst)); err != nil {
			return err
		}
	}
	c.setKey(e, key)
	e.stamp = stamp
	return nil
}

// number splits a number and the space after it off s.
func number(s string) (n int64, rest string, ok bool) {
	s = strings.TrimLeft(s, " \t")
	i := 0
	for i < len(s) && ctext.IsDigit(s[i]) {
		i++
	}
	n, err := strconv.ParseInt(s[:i], 10, 64)
	return n, strings.TrimLeft(s[i:], " \t"), err == nil
}

// Save writes the file if instances were added or culled since it was last
// read or written, and returns how many it now has (PMDA_CACHE_SAVE).
func (c *Cache[T]) Save() (n int, err error) { return c.save(dirtyInst) }

// Sync writes the file also if only the times of instances are new
// (PMDA_CACHE_SYNC).
func (c *Cache[T]) Sync() (n int, err error) { return c.save(dirtyInst | dirtyStamp) }

// Write writes the file (PMDA_CACHE_WRITE).
func (c *Cache[T]) Write() (n int, err error) { return c.save(0) }

func (c *Cache[T]) save(why int) (n int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if why != 0 && c.dirty&why == 0 {
		return 0, nil
	}
	path := c.Path()
	b, n := c.text()
	if err := safefile.MkdirAll(filepath.Dir(path), 0o755, nil); err != nil {
		return 0, err
	}
	if err := replaceFile(path, b); err != nil {
		return 0, err
	}
	c.dirty = 0
	return n, nil
}

// text returns the contents of the file and how many instances it has.
func (c *Cache[T]) text() (b []byte, n int) {
	mode := 0
	if c.reuse {
		mode = 1
	}
	b = fmt.Appendf(b, "2 %d %d\n", mode, c.maxInst)
	now := c.opts.Now().Unix()
	for _, e := range c.entries {
		if e.State == culled {
			continue
		}
		if strings.ContainsAny(e.Name, "\n\x00") || e.Name == "" {
			c.opts.Log.Warn("name cannot be saved", "indom", c.indom.String(), "inst", e.Inst, "name", e.Name)
			continue
		}
		if e.stamp == 0 {
			e.stamp = now
		}
		b = fmt.Appendf(b, "%d %d", e.Inst, e.stamp)
		if e.Key != "" {
			b = fmt.Appendf(b, " [%x]", e.Key)
		}
		b = append(b, ' ')
		b = append(b, e.Name...)
		b = append(b, '\n')
		n++
	}
	return b, n
}

// replaceFile writes a file in one step, so that a crash cannot leave half of
// it. If the process may write the file but not its directory, it writes in
// place.
func replaceFile(path string, b []byte) error {
	err := safefile.ReplaceBytes(path, b, safefile.Replacement{Mode: 0o644, Uid: -1, Gid: -1})
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	f, _, err := safefile.OpenAppend(path, 0, 0o644)
	if err != nil {
		return err
	}
	if err = f.Truncate(0); err == nil {
		_, err = f.Write(b)
	}
	return errors.Join(err, f.Close())
}

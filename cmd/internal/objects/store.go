package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-pcp/pcp/internal/storage"
)

// Limits.
const (
	blockSize    = 256 << 10
	aheadMost    = 16                     // blocks read in one request
	inMemory     = 64                     // blocks of all files
	maxEntries   = 1 << 20                // of a listing
	maxListing   = 64 << 20               // bytes of an answer with a listing
	maxErrorBody = 64 << 10               // bytes of an answer with an error
	listingAge   = 5 * time.Second        // listings and sizes are not requested again so soon
	defaultCache = 1 << 30                // bytes on disk
	tries        = 4                      // of a request
	firstPause   = 200 * time.Millisecond // between them, twice as long each time
	maxPause     = 5 * time.Second
	idleTimeout  = 30 * time.Second // for the headers of an answer
	bodyTimeout  = 2 * time.Minute  // for one answer
)

// Variables of the cache.
const (
	cacheVar     = "PCP_OBJECT_CACHE"      // directory, "off" for none
	cacheSizeVar = "PCP_OBJECT_CACHE_SIZE" // bytes, with K, M, G or T
)

// Register makes archives at s3://, https:// and http:// addresses readable. Variables of the environment
// come from getenv, when an address is used first.
func Register(getenv func(string) string) {
	shared := sync.OnceValues(func() (*cache, error) { return openCache(getenv) })
	client := sync.OnceValue(newClient)
	for _, scheme := range []string{"s3", "https", "http"} {
		storage.Register(scheme, func() storage.Store {
			c, err := shared()
			s := &store{cache: c, err: err, times: make(map[string]*listing)}
			if scheme == "s3" {
				s.back, s.err = newS3(client(), getenv)
				s.err = errors.Join(err, s.err)
			} else {
				s.back = &web{client()}
			}
			return s
		})
	}
}

func newClient() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.ResponseHeaderTimeout = idleTimeout
	t.MaxIdleConnsPerHost = 16
	t.DisableCompression = true // ranges are of the file as it is stored
	return &http.Client{Transport: t, Timeout: bodyTimeout}
}

// A backend speaks the protocol of a kind of store. Errors wrap fs.ErrNotExist and fs.ErrPermission.
type backend interface {
	// head describes a file.
	head(ctx context.Context, address string) (*info, error)
	// list lists a directory, which ends with a slash. Sizes may be -1.
	list(ctx context.Context, dir string) ([]*info, error)
	// get returns n bytes of a version of a file from an offset on, or more: then from is another offset.
	get(ctx context.Context, address, version string, off, n int64) (body io.ReadCloser, from int64, err error)
}

// A prefixLister is a backend that lists a part of a directory in fewer requests.
type prefixLister interface {
	// listPrefix lists the files and directories in a directory whose names begin with a prefix.
	listPrefix(ctx context.Context, dir, prefix string) ([]*info, error)
}

// An info describes a file or a directory.
type info struct {
	name    string
	size    int64 // -1: not known
	time    time.Time
	version string // changes with the contents
	dir     bool
}

func (i *info) Name() string       { return i.name }
func (i *info) Size() int64        { return i.size }
func (i *info) ModTime() time.Time { return i.time }
func (i *info) IsDir() bool        { return i.dir }
func (i *info) Sys() any           { return nil }

func (i *info) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | 0o555
	}
	return 0o444
}

// An Error is a failure to read an address.
type Error struct {
	Address string
	Err     error
}

func (e *Error) Error() string { return e.Address + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// NotInC marks an error that the C library does not have, so that tools print its text.
func (e *Error) NotInC() {}

// A store is a [storage.Store] over a backend.
type store struct {
	back  backend
	cache *cache
	err   error // of the configuration

	mu    sync.Mutex
	times map[string]*listing
}

// A listing is a part of a directory as it was some seconds ago: the files whose names begin with a prefix.
type listing struct {
	dir, prefix string
	at          time.Time
	list        []*info // sorted by name
}

// with returns the files whose names begin with a prefix.
func (l *listing) with(prefix string) []*info {
	i, _ := slices.BinarySearchFunc(l.list, prefix, func(i *info, name string) int { return strings.Compare(i.name, name) })
	n := slices.IndexFunc(l.list[i:], func(i *info) bool { return !strings.HasPrefix(i.name, prefix) })
	if n < 0 {
		n = len(l.list) - i
	}
	return l.list[i : i+n : i+n]
}

// find returns the file with a name, nil if there is none.
func (l *listing) find(name string) *info {
	i, ok := slices.BinarySearchFunc(l.list, name, func(i *info, name string) int { return strings.Compare(i.name, name) })
	if !ok {
		return nil
	}
	return l.list[i]
}

// entry is an [info] as an entry of a directory.
type entry struct {
	*info
	s   *store
	dir string
}

func (e entry) Type() fs.FileMode { return e.Mode().Type() }

// Info returns the description, with the size.
func (e entry) Info() (fs.FileInfo, error) {
	if e.size >= 0 || e.info.dir {
		return e.info, nil
	}
	return e.s.Stat(e.dir + e.name)
}

// recent returns a recent listing with all files of a directory whose names begin with a prefix, nil if there is none.
func (s *store) recent(dir, prefix string) *listing {
	s.mu.Lock()
	defer s.mu.Unlock()
	for at, l := range s.times {
		switch {
		case time.Since(l.at) >= listingAge:
			delete(s.times, at)
		case l.dir == dir && strings.HasPrefix(prefix, l.prefix):
			return l
		}
	}
	return nil
}

// list lists the files of a directory whose names begin with a prefix, and perhaps others. The error for an empty directory is
// fs.ErrNotExist, but an empty list is valid if there is a prefix.
func (s *store) list(dir, prefix string) (*listing, error) {
	dir = strings.TrimRight(dir, "/") + "/"
	if s.err != nil {
		return nil, &Error{dir, s.err}
	}
	if l := s.recent(dir, prefix); l != nil {
		return l, nil
	}
	if prefix == "" && s.isNoDir(dir) {
		return nil, &Error{dir, fs.ErrNotExist}
	}
	back, parts := s.back.(prefixLister)
	var list []*info
	var err error
	if parts && prefix != "" {
		list, err = back.listPrefix(context.Background(), dir, prefix)
	} else {
		prefix = ""
		if list, err = s.back.list(context.Background(), dir); err == nil && len(list) == 0 {
			err = fs.ErrNotExist
		}
	}
	if err != nil {
		return nil, wrap(dir, err)
	}
	slices.SortFunc(list, func(a, b *info) int { return strings.Compare(a.name, b.name) })
	list = slices.CompactFunc(list, func(a, b *info) bool { return a.name == b.name })
	l := &listing{dir, prefix, time.Now(), list}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.times[dir+"\x00"+prefix] = l
	return l, nil
}

// isNoDir reports whether a recent listing of the directory above shows that there is no directory with this name.
func (s *store) isNoDir(dir string) bool {
	above, name := path.Split(strings.TrimRight(dir, "/"))
	if strings.HasSuffix(above, "//") {
		return false // a bucket
	}
	l := s.recent(above, name)
	if l == nil {
		return false
	}
	i := l.find(name)
	return i == nil || !i.dir
}

// wrap adds the address to an error that lacks it.
func wrap(address string, err error) error {
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	return &Error{address, err}
}

// ReadDir implements [storage.Store].
func (s *store) ReadDir(dir string) ([]fs.DirEntry, error) { return s.ReadDirPrefix(dir, "") }

// ReadDirPrefix implements [storage.Prefixer].
func (s *store) ReadDirPrefix(dir, prefix string) ([]fs.DirEntry, error) {
	l, err := s.list(dir, prefix)
	if err != nil {
		return nil, err
	}
	dir = strings.TrimRight(dir, "/") + "/"
	list := l.with(prefix)
	entries := make([]fs.DirEntry, len(list))
	for i := range list {
		entries[i] = entry{list[i], s, dir}
	}
	return entries, nil
}

// Stat implements [storage.Store].
func (s *store) Stat(address string) (fs.FileInfo, error) {
	i, err := s.find(address)
	if err != nil {
		return nil, err
	}
	return i, nil
}

// find describes a file, if possible from a recent listing of its directory.
func (s *store) find(address string) (*info, error) {
	if s.err != nil {
		return nil, &Error{address, s.err}
	}
	address = strings.TrimRight(address, "/")
	dir, base := path.Split(address)
	if scheme, rest, _ := strings.Cut(address, "://"); !strings.Contains(rest, "/") {
		if _, err := s.list(address, ""); err != nil { // a bucket, or the root of a server
			return nil, err
		}
		return &info{name: rest, dir: true}, nil
	} else if l, err := s.list(dir, base); err == nil {
		switch i := l.find(base); {
		case i == nil:
			return nil, &Error{address, fs.ErrNotExist}
		case i.size >= 0 || i.dir:
			return i, nil
		}
	} else if errors.Is(err, fs.ErrNotExist) && scheme == "s3" {
		return nil, &Error{address, fs.ErrNotExist}
	}
	i, err := s.back.head(context.Background(), address)
	if err != nil {
		return nil, wrap(address, err)
	}
	return i, nil
}

// ReadFile implements [storage.FileReader] for stores that have small files.
func (s *store) ReadFile(address string) ([]byte, error) {
	back, ok := s.back.(writer)
	if !ok {
		return nil, &Error{address, errors.ErrUnsupported}
	}
	if s.err != nil {
		return nil, &Error{address, s.err}
	}
	data, _, err := back.read(context.Background(), address)
	if err != nil {
		return nil, wrap(address, err)
	}
	return data, nil
}

// Open implements [storage.Store].
func (s *store) Open(address string) (storage.File, error) {
	i, err := s.find(address)
	switch {
	case err != nil:
		return nil, err
	case i.dir:
		return nil, &fs.PathError{Op: "open", Path: address, Err: fs.ErrInvalid}
	}
	return &file{s: s, address: address, info: i, key: key(address, i), last: -2}, nil
}

// request makes a request until it succeeds or fails for good. Build makes each one.
func request(ctx context.Context, client *http.Client, build func() (*http.Request, error)) (*http.Response, error) {
	var last error
	for try := range tries {
		if try > 0 {
			pause := min(firstPause<<(try-1), maxPause)
			if busy, ok := errors.AsType[*statusError](last); ok && busy.after > 0 {
				pause = min(busy.after, maxPause)
			}
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(pause):
			}
		}
		req, err := build()
		if err != nil {
			return nil, err
		}
		resp, err := client.Do(req.WithContext(ctx))
		if err != nil {
			last = plain(err)
			continue
		}
		if resp.StatusCode < 300 {
			return resp, nil
		}
		err = failure(resp)
		resp.Body.Close()
		if resp.StatusCode < 500 && resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusRequestTimeout {
			return nil, err
		}
		last = err
	}
	return nil, last
}

// plain returns the cause of an error of package http without the URL, which has the query of a signed request.
func plain(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// A statusError is an answer other than success.
type statusError struct {
	status int
	code   string // of S3
	text   string // of the server
	after  time.Duration
}

func (e *statusError) Error() string {
	if e.status == http.StatusPreconditionFailed {
		return errReplaced.Error()
	}
	text := fmt.Sprintf("the server answers %d %s", e.status, http.StatusText(e.status))
	if e.text != "" {
		text += ": " + e.text
	}
	return text
}

// Unwrap returns the error of package fs that corresponds to the status, or nil.
func (e *statusError) Unwrap() error {
	switch e.status {
	case http.StatusNotFound, http.StatusGone:
		return fs.ErrNotExist
	case http.StatusUnauthorized, http.StatusForbidden:
		return fs.ErrPermission
	case http.StatusPreconditionFailed:
		return errReplaced
	}
	return nil
}

// errReplaced is the error of reading a file that was replaced since it was opened.
var errReplaced = errors.New("the file was replaced while it was read")

func failure(resp *http.Response) error {
	e := &statusError{status: resp.StatusCode}
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && s > 0 {
		e.after = time.Duration(min(s, 3600)) * time.Second
	}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	e.code, _ = s3Error(body)
	e.text = s3Message(body)
	return e
}

// partOf checks the status and the range of the answer to a request for a part of a file, and returns the offset at which its body
// begins.
func partOf(resp *http.Response, off int64) (int64, error) {
	if resp.StatusCode == http.StatusOK {
		return 0, nil // the server does not know ranges
	}
	first, _, ok := strings.Cut(strings.TrimPrefix(resp.Header.Get("Content-Range"), "bytes "), "-")
	from, err := strconv.ParseInt(first, 10, 64)
	if resp.StatusCode != http.StatusPartialContent || !ok || err != nil || from < 0 || from > off {
		return 0, fmt.Errorf("the server answers %d with the range %.100q to a request from byte %d on", resp.StatusCode, resp.Header.Get("Content-Range"), off)
	}
	return from, nil
}

// cacheDir returns the directory of the cache, "" for none.
func cacheDir(getenv func(string) string) string {
	switch dir := getenv(cacheVar); dir {
	case "off":
		return ""
	case "":
	default:
		return dir
	}
	base := getenv("XDG_CACHE_HOME")
	if base == "" {
		if base = getenv("HOME"); base == "" {
			return ""
		}
		base = filepath.Join(base, ".cache")
	}
	return filepath.Join(base, "pcp", "objects")
}

// cacheSize parses a number of bytes.
func cacheSize(text string) (int64, error) {
	if text == "" {
		return defaultCache, nil
	}
	digits, shift := text, 0
	if i := strings.IndexByte("KMGT", text[len(text)-1]&^0x20); i >= 0 {
		digits, shift = text[:len(text)-1], 10*(i+1)
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > 1<<62>>shift {
		return 0, fmt.Errorf("%s=%s is not a number of bytes, such as 500M", cacheSizeVar, text)
	}
	return n << shift, nil
}

func openCache(getenv func(string) string) (*cache, error) {
	size, err := cacheSize(getenv(cacheSizeVar))
	c := &cache{dir: cacheDir(getenv), limit: size, memory: make(map[block]*held)}
	if c.dir != "" && err == nil && size > 0 {
		if err := os.MkdirAll(c.dir, 0o700); err != nil {
			c.dir = "" // the memory is enough
		}
	} else {
		c.dir = ""
	}
	return c, err
}

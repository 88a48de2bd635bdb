package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"
)

//go:embed dist/app.css dist/app.js dist/icon.svg dist/index.html
var dist embed.FS

// index is the file served for the directory.
const index = "index.html"

// policy restricts the page to content of its own server, forbids frames around it, and
// forbids scripts to create elements from text.
const policy = "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; " +
	"frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// Config configures the page. The zero Config is valid.
type Config struct {
	// Prefix is the path of the page, such as "/ui"; "" means the root. The page requests
	// /pmapi and /series below the same prefix.
	Prefix string

	// Past is set for a server with archives and no collector: it answers /series, and the
	// page shows the time range of the archives.
	Past bool
}

// A Handler serves the page. It is safe for concurrent use.
type Handler struct {
	prefix string
	files  map[string]file
}

// A file is read from the program with each request, so that it is in memory only once.
type file struct {
	name, mime string
	etag       func() string
	open       func() (io.ReadSeeker, error)
}

// embedded opens a file of the bundle.
func embedded(name string) (io.ReadSeeker, error) {
	f, err := dist.Open(name)
	if err != nil {
		return nil, err
	}
	return f.(io.ReadSeeker), nil // documented for files of an embed.FS
}

// etag returns the validator of a content, "" if it cannot be read.
func etag(open func() (io.ReadSeeker, error)) string {
	sum := sha256.New()
	f, err := open()
	if err == nil {
		_, err = io.Copy(sum, f)
	}
	if err != nil {
		return ""
	}
	return `"` + hex.EncodeToString(sum.Sum(nil)[:12]) + `"`
}

// New returns a Handler for the page.
func New(cfg Config) (*Handler, error) {
	h := &Handler{prefix: strings.TrimSuffix(cfg.Prefix, "/"), files: make(map[string]file)}
	if h.prefix != "" && h.prefix[0] != '/' {
		return nil, fmt.Errorf("web: the prefix %q does not begin with /", cfg.Prefix)
	}
	names, err := fs.Glob(dist, "dist/*")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		base := path.Base(name)
		open := func() (io.ReadSeeker, error) { return embedded(name) }
		if base == index && cfg.Past {
			data, err := dist.ReadFile(name)
			if err != nil {
				return nil, err
			}
			data = bytes.Replace(data, []byte("<html "), []byte("<html data-past "), 1)
			open = func() (io.ReadSeeker, error) { return bytes.NewReader(data), nil }
		}
		h.files[base] = file{name: base, mime: typeOf(base), etag: sync.OnceValue(func() string { return etag(open) }), open: open}
	}
	return h, nil
}

// typeOf returns the media type of a file of the bundle. It does not use the tables of the system, which
// differ.
func typeOf(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	return mime.TypeByExtension(path.Ext(name))
}

// Close releases the handler's resources; there are none now.
func (h *Handler) Close() error { return nil }

// ServeHTTP answers GET and HEAD for the files of the page, and 404 for any other path.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	name, ok := strings.CutPrefix(r.URL.Path, h.prefix)
	if h.prefix != "" && ok && name == "" {
		// Without the slash the browser would request the files one directory up.
		http.Redirect(w, r, h.prefix+"/", http.StatusMovedPermanently)
		return
	}
	name, below := strings.CutPrefix(name, "/")
	if name == "" {
		name = index
	}
	f, found := h.files[name]
	switch {
	case !ok || !below || !found:
		http.Error(w, "there is no such page", http.StatusNotFound)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		header.Set("Allow", "GET, HEAD")
		http.Error(w, "the page is only read", http.StatusMethodNotAllowed)
	default:
		content, err := f.open()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		header.Set("Content-Type", f.mime)
		header.Set("ETag", f.etag())
		header.Set("Cache-Control", "no-cache") // revalidate each time; the answer is mostly 304
		if r.URL.Query().Has("token") {
			header.Set("Cache-Control", "no-store") // a cache would store the address
		}
		http.ServeContent(w, r, f.name, time.Time{}, content)
	}
}

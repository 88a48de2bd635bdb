package objects

import (
	"context"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"
	"sync"
)

// web reads from web servers.
type web struct{ client *http.Client }

func (w *web) do(ctx context.Context, method, address string, set func(http.Header)) (*http.Response, error) {
	return request(ctx, w.client, func() (*http.Request, error) {
		req, err := http.NewRequest(method, address, nil)
		if err != nil {
			return nil, err
		}
		if req.URL.Host == "" {
			return nil, fmt.Errorf("%q names no host", address)
		}
		if set != nil {
			set(req.Header)
		}
		return req, nil
	})
}

func (w *web) head(ctx context.Context, address string) (*info, error) {
	resp, err := w.do(ctx, http.MethodHead, escaped(address), nil)
	if err != nil {
		return nil, err
	}
	resp.Body.Close()
	if strings.HasSuffix(resp.Request.URL.Path, "/") {
		return &info{name: path.Base(address), dir: true}, nil // the server redirects to its listing
	}
	if resp.ContentLength < 0 {
		return nil, fmt.Errorf("the server does not give the size of the file")
	}
	i := &info{name: path.Base(address), size: resp.ContentLength, version: resp.Header.Get("ETag")}
	i.time, _ = http.ParseTime(resp.Header.Get("Last-Modified"))
	return i, nil
}

// href finds the links of a listing.
var href = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)<a\s[^>]*?href\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"']+))`)
})

func (w *web) list(ctx context.Context, dir string) ([]*info, error) {
	resp, err := w.do(ctx, http.MethodGet, escaped(dir), nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if kind := resp.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/html") {
		return nil, fmt.Errorf("the server sends no listing of the directory but %.100q", kind)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxListing))
	if err != nil {
		return nil, err
	}
	return links(body, resp.Request.URL), nil
}

// links returns the files and directories to which the listing of a directory has links.
func links(body []byte, base *url.URL) []*info {
	var list []*info
	for _, m := range href().FindAllSubmatch(body, maxEntries) {
		link := string(m[1]) + string(m[2]) + string(m[3])
		u, err := base.Parse(html.UnescapeString(link))
		if err != nil || u.Host != base.Host || u.RawQuery != "" || !strings.HasPrefix(u.Path, base.Path) {
			continue
		}
		name, isDir := strings.CutSuffix(strings.TrimPrefix(u.Path, base.Path), "/")
		if name == "" || name == "." || name == ".." || strings.Contains(name, "/") {
			continue
		}
		list = append(list, &info{name: name, size: -1, dir: isDir})
	}
	return list
}

func (w *web) get(ctx context.Context, address, version string, off, n int64) (io.ReadCloser, int64, error) {
	resp, err := w.do(ctx, http.MethodGet, escaped(address), func(h http.Header) {
		h.Set("Range", fmt.Sprintf("bytes=%d-%d", off, off+n-1))
		if version != "" && !strings.HasPrefix(version, "W/") {
			h.Set("If-Match", version)
		}
	})
	if err != nil {
		return nil, 0, err
	}
	from, err := partOf(resp, off)
	if tag := resp.Header.Get("ETag"); err == nil && version != "" && tag != "" && tag != version {
		err = errReplaced
	}
	if err != nil {
		resp.Body.Close()
		return nil, 0, err
	}
	return resp.Body, from, nil
}

// escaped returns an address whose path is as a user types it, escaped as a URL. An address with a % is taken as it is.
func escaped(address string) string {
	scheme, rest, _ := strings.Cut(address, "://")
	host, name, ok := strings.Cut(rest, "/")
	if !ok || strings.Contains(name, "%") {
		return address
	}
	u := url.URL{Path: "/" + name}
	return scheme + "://" + host + u.EscapedPath()
}

package chart

import (
	"bytes"
	"context"
	"fmt"
	"image/gif"
	"image/png"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/tool/browser"
	"github.com/go-pcp/pcp/internal/safefile"
)

// pictureWidth is the width of a picture without -g.
const pictureWidth = 1280

// Limits of -g.
const (
	minSide = 100
	maxSide = 8192
)

// formats are the file name extensions of pictures, with what the browser makes.
var formats = map[string]string{"png": "png", "jpg": "jpeg", "jpeg": "jpeg", "gif": "png", "pdf": "pdf"}

// ready is true on a page whose charts are drawn, or have a text in their place that will stay.
const ready = `document.querySelector('main .card, main .tile, main .uplot')
	&& !/Reading the archives…|Waiting for values…/.test(document.querySelector('main').innerText)`

// pictureFile checks a file name of -o. As in C, a name without an extension gets that of GIF.
func pictureFile(name string) (string, error) {
	ext := strings.TrimPrefix(filepath.Ext(name), ".")
	if ext == "" && name != "" {
		return strings.TrimSuffix(name, ".") + ".gif", nil
	}
	if formats[strings.ToLower(ext)] == "" {
		return "", fmt.Errorf("-o makes files with the extensions png, jpg, jpeg, gif and pdf, not %q", name)
	}
	return name, nil
}

// parseGeometry parses WIDTHxHEIGHT.
func parseGeometry(s string) (width, height int, err error) {
	w, h, _ := strings.Cut(s, "x")
	width, errW := strconv.Atoi(w)
	height, errH := strconv.Atoi(h)
	if errW != nil || errH != nil || min(width, height) < minSide || max(width, height) > maxSide {
		return 0, 0, fmt.Errorf("-g needs a size such as 800x600, from %d to %d, not %q", minSide, maxSide, s)
	}
	return width, height, nil
}

// picture writes a picture of the page at an address.
func (x *chart) picture(ctx context.Context, address string) int {
	ext := strings.ToLower(strings.TrimPrefix(filepath.Ext(x.output), "."))
	p := browser.Picture{Address: address, Width: x.width, Height: x.height, Format: formats[ext], Ready: ready}
	if p.Width == 0 {
		p.Width = pictureWidth
	}
	b, err := p.Take(ctx, x.env)
	if err == nil && ext == "gif" {
		b, err = toGIF(b)
	}
	if err == nil {
		err = safefile.ReplaceBytes(x.output, b, safefile.Replacement{Mode: 0o644, Uid: -1, Gid: -1})
	}
	if err != nil {
		return x.env.Fatalf("-o %s: %v", x.output, err)
	}
	return 0
}

func toGIF(picture []byte) ([]byte, error) {
	img, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = gif.Encode(&b, img, nil)
	return slices.Clip(b.Bytes()), err
}

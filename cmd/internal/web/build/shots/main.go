// Shots makes pictures of the page of pcp up for docs: of 1440, 1920 and 390 pixels, dark and light.
//
//	echo 'http://localhost:44322/?token=…#/overview' | shots -dir docs/pictures
//
// The address is not an argument, since the page shows the arguments of processes.
package main

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

func main() {
	dir := flag.String("dir", ".", "the directory of the pictures")
	flag.Parse()
	address, err := io.ReadAll(os.Stdin)
	if err == nil {
		err = run(*dir, strings.TrimSpace(string(address)))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "shots:", err)
		os.Exit(1)
	}
}

func run(dir, address string) error {
	if address == "" {
		return fmt.Errorf("no address of a page")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	ctx, stop := chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath("chromium"), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("hide-scrollbars", true))...)
	defer stop()
	ctx, end := chromedp.NewContext(ctx)
	defer end()
	for _, size := range [][2]int64{{1440, 900}, {1920, 1080}, {390, 844}} {
		for _, scheme := range []string{"dark", "light"} {
			media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
			if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, media); err != nil {
				return err
			}
			if err := chromedp.Do(ctx, chromedp.EmulateViewport(size[0], size[1]), chromedp.Navigate("about:blank"), chromedp.Navigate(address), chromedp.WaitVisible(".uplot canvas")); err != nil {
				return err
			}
			time.Sleep(5 * time.Second) // of values
			picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
			if err != nil {
				return err
			}
			if picture, err = reduce(picture); err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("page-%d-%s.png", size[0], scheme)), picture, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// reduce writes a picture with the 256 colours that it has most of, which makes the file a good deal smaller.
func reduce(picture []byte) ([]byte, error) {
	img, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		return nil, err
	}
	box := img.Bounds()
	count := map[color.NRGBA]int{}
	at := func(x, y int) color.NRGBA { return color.NRGBAModel.Convert(img.At(x, y)).(color.NRGBA) }
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			count[at(x, y)]++
		}
	}
	common := slices.SortedFunc(maps.Keys(count), func(a, b color.NRGBA) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})
	var palette color.Palette
	for _, c := range common[:min(256, len(common))] {
		palette = append(palette, c)
	}
	index := map[color.NRGBA]uint8{}
	for c := range count {
		index[c] = uint8(palette.Index(c))
	}
	out := image.NewPaletted(box, palette)
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			out.SetColorIndex(x, y, index[at(x, y)])
		}
	}
	var b bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, out)
	return b.Bytes(), err
}

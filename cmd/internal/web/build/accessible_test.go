package main

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/go-pcp/pcp/internal/testing/longtest"
)

// TestAccessible has axe check the diagnosis, a pinned time, a comparison and the recordings, light and dark, on a small screen; in the long form also on a wide one.
func TestAccessible(t *testing.T) {
	script := axeScript(t)
	f := newFake(t)
	f.serveDiagnoses(new(atomic.Bool))
	sizes := [][2]int{{390, 844}, {1280, 900}}
	for _, size := range sizes[:longtest.N(1, 2)] {
		t.Run(fmt.Sprint(size[0]), func(t *testing.T) {
			p := open(t, f, "#/diagnose", size[0], size[1])
			both := func(what string) {
				t.Helper()
				for range 2 {
					p.key("d")
					p.accessible(script, what)
				}
				if w := eval[int](p, "document.documentElement.scrollWidth"); w > size[0] {
					t.Errorf("%s: the page is %d pixels wide on a screen of %d", what, w, size[0])
				}
				p.shot(what)
			}
			p.until("document.querySelectorAll('.finding').length === 2")
			both("diagnose")
			p.do("location.hash = '#/charts?chart=disk.dev.read&compare=3600'")
			p.until("document.querySelectorAll('.uplot').length === 2 && document.querySelector('.compared .against')")
			both("compare")
			p.do("location.hash = '#/charts?chart=disk.dev.read'")
			p.until("document.querySelectorAll('.uplot').length === 1 && document.querySelector('.choose')")
			p.click(".choose")
			p.until("document.querySelector('.pinned')")
			both("pinned")
			p.button("Record")
			p.until("document.querySelector('dialog[open]')")
			p.accessible(script, "recordings")
		})
	}
}

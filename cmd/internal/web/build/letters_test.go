package main

import "testing"

// TestLetters sets the font of the page by the link, and the number of samples that it keeps.
func TestLetters(t *testing.T) {
	f := newFake(t)
	f.noSeries = true
	p := open(t, f, "#/charts?chart=swap.used&font=DejaVu%20Sans&size=21&kept=3&window=60", 1280, 900)
	p.until("document.querySelectorAll('.uplot').length === 1")
	p.until("getComputedStyle(document.querySelector('.numbers td')).fontSize === '25px' && getComputedStyle(document.querySelector('.numbers td')).fontFamily.includes('DejaVu Sans')")
	p.until("location.hash.includes('kept=3') && location.hash.includes('size=21') && location.hash.includes('font=DejaVu%20Sans')")
	p.shot("large")
}

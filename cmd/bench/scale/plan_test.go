//go:build linux

package main

import (
	"os"
	"strings"
	"testing"
)

// TestPlan compares the table of the page with the table computed from the measured costs.
func TestPlan(t *testing.T) {
	page, err := os.ReadFile("../../../docs/scaling.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := plan(); !strings.Contains(string(page), want) {
		t.Errorf("docs/scaling.md does not have the table\n%s", want)
	}
}

package linux

import "testing"

// TestTexts checks that help.txt has a text for each metric and instance domain, and nothing
// else.
func TestTexts(t *testing.T) {
	if err := New(Config{Root: t.TempDir()}).CheckTexts(); err != nil {
		t.Error(err)
	}
}

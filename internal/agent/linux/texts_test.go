package linux

import "testing"

// TestTexts checks that help.txt or the tables have a text for each metric and instance domain,
// and that help.txt has nothing else.
func TestTexts(t *testing.T) {
	if err := New(Config{Root: t.TempDir()}).CheckTexts(); err != nil {
		t.Errorf("texts of help.txt and the tables:\n%v", err)
	}
}

package rules

import (
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Links in Markdown, and those in the HTML that a page has for pictures.
var (
	pageLink  = regexp.MustCompile(`\]\(<?([^()\s>]*(?:\([^()\s]*\)[^()\s>]*)*)>?(?:\s+"[^"]*")?\)`)
	htmlLink  = regexp.MustCompile(`\b(?:href|src|srcset)="([^"]*)"`)
	pageHead  = regexp.MustCompile(`(?m)^#{1,6} +(.*?)(?: +#+)?$`)
	pageFence = regexp.MustCompile("(?ms)^```.*?^```$")
	inlined   = regexp.MustCompile("`[^`\n]*`")
	namedSpot = regexp.MustCompile(`<a (?:id|name)="([^"]*)"`)
)

// TestLinks checks that each link of each page leads to a file of the repository, or to a heading; and that links elsewhere
// are addresses of the web.
func TestLinks(t *testing.T) {
	found, anchors := 0, map[string][]string{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "vendor" || d.Name() == "node_modules"):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".md":
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		blank := func(s string) string { return strings.Repeat("\n", strings.Count(s, "\n")) }
		text := inlined.ReplaceAllString(codeInPage.ReplaceAllStringFunc(string(b), blank), "")
		for _, links := range []*regexp.Regexp{pageLink, htmlLink} {
			for _, m := range links.FindAllStringSubmatchIndex(text, -1) {
				found++
				target := text[m[2]:m[3]]
				if problem := broken(t, path, target, anchors); problem != "" {
					t.Errorf("%s:%d: the link %q: %s", path, 1+strings.Count(text[:m[0]], "\n"), target, problem)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 200 {
		t.Errorf("%d links were found, which are too few: do the expressions still fit?", found)
	}
}

// broken returns the problem with a link of a page, or "".
func broken(t *testing.T, page, target string, anchors map[string][]string) string {
	t.Helper()
	u, err := url.Parse(target)
	switch {
	case err != nil:
		return err.Error()
	case u.Scheme == "https" && u.Host != "" || u.Scheme == "http" && u.Host != "":
		return ""
	case u.Scheme != "" || u.Host != "" || target == "":
		return "not an address of the web, and not a file"
	}
	file := page
	if u.Path != "" {
		file = filepath.Join(filepath.Dir(page), u.Path)
		if _, err := os.Stat(file); err != nil || strings.HasPrefix(file, "..") || filepath.IsAbs(u.Path) {
			return "there is no such file in the repository"
		}
	}
	if u.Fragment == "" {
		return ""
	}
	if filepath.Ext(file) != ".md" {
		return "a place in a file that is not a page"
	}
	if anchors[file] == nil {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		anchors[file] = anchorsOf(string(b))
	}
	if !slices.Contains(anchors[file], u.Fragment) {
		return "the page has no such heading; it has " + strings.Join(anchors[file], " ")
	}
	return ""
}

// anchorsOf returns the names by which links reach the headings of a page, as GitHub makes them.
func anchorsOf(page string) []string {
	page = pageFence.ReplaceAllString(page, "")
	var names []string
	seen := map[string]int{}
	for _, m := range pageHead.FindAllStringSubmatch(page, -1) {
		head := regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(m[1], "$1")
		name := strings.ReplaceAll(regexp.MustCompile(`[^\p{L}\p{N}\p{M} _-]`).ReplaceAllString(strings.ToLower(head), ""), " ", "-")
		if n := seen[name]; n > 0 {
			names = append(names, name+"-"+strconv.Itoa(n))
		} else {
			names = append(names, name)
		}
		seen[name]++
	}
	for _, m := range namedSpot.FindAllStringSubmatch(page, -1) {
		names = append(names, m[1])
	}
	return names
}

// TestAnchors checks the names of headings.
func TestAnchors(t *testing.T) {
	page := "# `pcp up`, and more\n\ntext\n\n```\n# not a heading\n```\n\n## Where the C implementation's [pages](x.md) are\n\n## More_or less (x)\n\n## More_or less (x) ##\n\n<a id=\"spot\"></a>\n"
	want := []string{"pcp-up-and-more", "where-the-c-implementations-pages-are", "more_or-less-x", "more_or-less-x-1", "spot"}
	if got := anchorsOf(page); !slices.Equal(got, want) {
		t.Errorf("anchors %q, want %q", got, want)
	}
	for target, ok := range map[string]bool{
		"README.md": true, "docs": true, "docs/page.md#nosuch": false, "nosuch.md": false, "https://example.com/x#y": true, "ftp://x": false, "../x": false, "": false, "/etc/passwd": false,
	} {
		if problem := broken(t, "CONTRIBUTING.md", target, map[string][]string{}); problem == "" != ok {
			t.Errorf("the link %q: %q", target, problem)
		}
	}
}

// TestIndex checks that the index of the documentation has all its pages, and that the pictures of README are small.
func TestIndex(t *testing.T) {
	index, err := os.ReadFile("docs/README.md")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		if name := filepath.Base(page); name != "README.md" && !strings.Contains(string(index), "]("+name+")") {
			t.Errorf("docs/README.md has no link to %s", name)
		}
	}
	pictures, err := filepath.Glob("docs/pictures/*")
	if err != nil || len(pictures) < 4 {
		t.Errorf("there are %d pictures: %v", len(pictures), err)
	}
	for _, path := range pictures {
		if fi, err := os.Stat(path); err != nil || fi.Size() > 150_000 {
			t.Errorf("%s: %v, or larger than 150 kB", path, err)
		}
	}
}

package man

import (
	"embed"
	"path"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// The pages of section 5. The first line of each is its summary.
//
//go:embed pages/*.txt
var pages embed.FS

// marker is a line of every page, by which a page that this command wrote is
// known.
const marker = ".\\\" Written by \"pcp man\".\n"

// A File is one manual page.
type File struct {
	Path string // below the directory of manual pages: "man1/pminfo.1"
	Text []byte
}

// Files returns the pages of the commands, of their sub-commands, and of the
// file formats, for a program of that version.
func Files(commands []*cli.Command, version string) []File {
	var files []File
	add := func(path string, text []byte) { files = append(files, File{path, text}) }
	add("man1/pcp.1", programPage(commands, version))
	var command func(c *cli.Command)
	command = func(c *cli.Command) {
		name, alias := PageName(c), "pcp-"+strings.ReplaceAll(c.Name, " ", "-")
		add("man1/"+name+".1", commandPage(c, version))
		if alias != name {
			add("man1/"+alias+".1", []byte(".so man1/"+name+".1\n"+marker))
		}
		for _, sub := range c.Sub {
			command(sub)
		}
	}
	for _, c := range commands {
		command(c)
	}
	for _, topic := range Topics() {
		add("man5/"+topic+".5", topicPage(topic, version))
	}
	return files
}

// PageName returns the name of the manual page of a command: its classic name,
// or "pcp-" and its name.
func PageName(c *cli.Command) string {
	if c.Link != "" {
		return c.Link
	}
	return "pcp-" + strings.ReplaceAll(c.Name, " ", "-")
}

// Topics returns the names of the pages of section 5.
func Topics() []string {
	entries, err := pages.ReadDir("pages")
	if err != nil {
		panic(err) // they are in the program
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".txt"))
	}
	return names
}

// Topic returns the text of a page of section 5, and reports whether there is one.
func Topic(name string) (string, bool) {
	if name == "" || path.Base(name) != name {
		return "", false
	}
	b, err := pages.ReadFile("pages/" + name + ".txt")
	return string(b), err == nil
}

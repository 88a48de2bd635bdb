package getopt

import (
	"bufio"
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// AddArchive adds an archive that an argument names, as -a does. A tool with
// one context has one list of archives, separated by commas.
func (o *Options) AddArchive(path string) {
	if len(o.Hosts) > 0 && !o.p.Mixed {
		o.Usagef("only one host or archive allowed")
		return
	}
	switch {
	case o.p.Multi:
		if !slices.Contains(o.Archives, path) {
			o.Archives = append(o.Archives, path)
		}
	case len(o.Archives) == 0:
		o.Archives = []string{path}
	case !listed(o.Archives[0], path):
		o.Archives[0] += "," + path
	}
}

// listed reports whether the first occurrence of path in a list is an element of
// it. As in the C library, others do not count.
func listed(list, path string) bool {
	i := strings.Index(list, path)
	if i < 0 || i > 0 && list[i-1] != ',' {
		return false
	}
	rest := list[i+len(path):]
	return rest == "" || rest[0] == ','
}

// addArchiveList adds the archives of a list that commas separate.
func (o *Options) addArchiveList(list string) {
	if len(o.Hosts) > 0 && !o.p.Mixed {
		o.Usagef("only one of hosts or archives allowed")
		return
	}
	if !o.p.Multi {
		o.AddArchive(list)
		return
	}
	for list != "" {
		var path string
		path, list, _ = strings.Cut(list, ",")
		o.AddArchive(path)
	}
}

// AddOwnArchive adds the archives that pmlogger writes for this host, which -O
// uses if no source is named.
func (o *Options) AddOwnArchive() { o.AddArchive(o.OwnArchive()) }

// OwnArchive returns the directory of the archives that pmlogger writes for this host.
func (o *Options) OwnArchive() string {
	dir := cmp.Or(o.p.Config.Get("PCP_ARCHIVE_DIR"), "/var/log/pcp/pmlogger")
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return dir + "/" + host
}

// AddArchiveFolio adds the archives of a folio that an argument names, as --archive-folio does.
func (o *Options) AddArchiveFolio(path string) { o.addFolio(path) }

// addFolio adds the archives that a folio lists (mkaf(1)). Names that are not
// absolute are relative to its directory.
func (o *Options) addFolio(path string) {
	if len(o.Hosts) > 0 && !o.p.Mixed {
		o.Usagef("only one of hosts or archives allowed")
		return
	}
	f, err := os.Open(path)
	if err != nil {
		o.runtimef("cannot open archive folio %s: %s", path, ErrText(err))
		return
	}
	defer f.Close()
	// This does not use package internal/folio: the C library reads folios for
	// pmafm(1) differently, and here it ignores everything except archives.
	in := bufio.NewScanner(f)
	switch {
	case !in.Scan():
		o.runtimef("archive folio %s has no header", path)
		return
	case !strings.HasPrefix(in.Text(), "PCPFolio"):
		o.runtimef("archive folio %s has bad magic", path)
		return
	case !in.Scan():
		o.runtimef("archive folio %s has no version", path)
		return
	case !strings.HasPrefix(in.Text(), "Version: 1"):
		o.runtimef("unknown version archive folio %s", path)
		return
	}
	for line := 3; in.Scan(); line++ {
		if !strings.HasPrefix(in.Text(), "Archive:") {
			continue
		}
		words := strings.Fields(in.Text())
		if len(words) < 2 {
			o.runtimef("missing host on archive folio line %d", line)
			return
		}
		if len(words) < 3 {
			o.runtimef("missing path on archive folio line %d", line)
			return
		}
		name := words[2]
		if !filepath.IsAbs(name) {
			name = filepath.Dir(path) + "/" + name
		}
		o.AddArchive(name)
	}
	if err := in.Err(); err != nil {
		o.runtimef("cannot read archive folio %s: %s", path, ErrText(err))
	}
}

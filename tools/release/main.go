// Release makes the files of a release: archives and packages for each architecture, below one
// directory. make release calls it from the root of the repository.
//
//	release -version 0.1.0 -out dist
//
// Each file depends only on the commit and the Go release: times are those of the commit, and the
// order of files is that of their names. docs/releasing.md has the steps of a release.
package main

import (
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// Options are what a releaser chooses.
type options struct {
	version  string   // of the release, X.Y.Z
	revision string   // of the packages, from 1
	out      string   // the directory of the files
	arches   []string // in Go's words
	formats  []string // of the table formats
	dirty    bool     // accept files that are not committed
	verify   bool     // make the release again elsewhere, and compare
	keyFile  string   // has the key for the sums, "" for none
	pgpKey   string   // has the OpenPGP key for deb and rpm, "" for none
}

var (
	versionForm  = regexp.MustCompile(`^(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})$`)
	revisionForm = regexp.MustCompile(`^[1-9]\d{0,5}$`)
	architecture = []string{"amd64", "arm64"}
)

// parse reads the arguments.
func parse(args []string, usage io.Writer) (options, error) {
	var o options
	var arches, formats string
	fs := flag.NewFlagSet("release", flag.ContinueOnError)
	fs.SetOutput(usage)
	fs.StringVar(&o.version, "version", "", "version of the release, `X.Y.Z`")
	fs.StringVar(&o.revision, "revision", "1", "revision of the packages, from 1")
	fs.StringVar(&o.out, "out", "dist", "write the files to this `directory`")
	fs.StringVar(&arches, "arch", strings.Join(architecture, ","), "architectures")
	fs.StringVar(&formats, "formats", strings.Join(formatNames(), ","), "only make these files")
	fs.StringVar(&o.keyFile, "key", "", "sign the sums with the OpenSSH private key in this `file`")
	fs.StringVar(&o.pgpKey, "pgp-key", "", "sign deb and rpm with the OpenPGP secret key in this `file`")
	fs.BoolVar(&o.dirty, "dirty", false, "also release files that are not committed, to try packages; not for a release")
	fs.BoolVar(&o.verify, "verify", false, "then make the release again, from a clone of the repository and without what the first build cached, and compare")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	switch {
	case fs.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	case o.version == "":
		return o, errors.New("no version: call \"make release VERSION=X.Y.Z\"")
	case !versionForm.MatchString(o.version):
		return o, fmt.Errorf("bad version %q: want three numbers, such as 1.2.3, without a leading v", o.version)
	case !revisionForm.MatchString(o.revision):
		return o, fmt.Errorf("bad revision %q: want a number from 1", o.revision)
	case o.verify && o.dirty:
		return o, errors.New("a clone has only what is committed: -verify and -dirty exclude each other")
	case o.verify && o.pgpKey != "":
		return o, errors.New("a signature of OpenPGP has a time, so that no two are the same: -verify and -pgp-key exclude each other")
	case o.out == "":
		return o, errors.New("no output directory")
	}
	var err error
	if o.arches, err = list("architecture", arches, architecture); err != nil {
		return o, err
	}
	o.formats, err = list("format", formats, formatNames())
	return o, err
}

// list splits a text at commas. Each element must be one of the known ones; the result has their order.
func list(what, text string, known []string) ([]string, error) {
	given := strings.Split(text, ",")
	for _, g := range given {
		if !slices.Contains(known, g) {
			return nil, fmt.Errorf("unknown %s %q: want some of %s", what, g, strings.Join(known, ","))
		}
	}
	return slices.DeleteFunc(slices.Clone(known), func(k string) bool { return !slices.Contains(given, k) }), nil
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	o, err := parse(args, os.Stderr)
	if err != nil {
		return err
	}
	var key ssh.Signer
	if o.keyFile != "" {
		if key, err = signer(o.keyFile); err != nil {
			return err
		}
	}
	if o.pgpKey != "" {
		if err := checkPGP(o.pgpKey); err != nil {
			return err
		}
	}
	src, err := inspect(ctx, o.version, o.dirty)
	if err != nil {
		return err
	}
	if err := writable(o.out); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	r := &release{options: o, source: src, work: work, key: key, level: gzip.BestCompression, started: time.Now()}
	if err := r.make(ctx); err != nil {
		return err
	}
	if err := r.report(stdout); err != nil || !o.verify {
		return err
	}
	return r.again(ctx)
}

// writable reports an error if no file can be made in the directory, which it creates.
func writable(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("output directory: %w", err)
	}
	f, err := os.CreateTemp(dir, ".release")
	if err != nil {
		return fmt.Errorf("output directory: %w", err)
	}
	f.Close()
	return os.Remove(f.Name())
}

// A product is a file of the release.
type product struct {
	name    string // below the output directory
	what    string // for the table
	size    int64
	seconds float64 // to make it
}

// A release is one run of this program.
type release struct {
	options
	source   source
	work     string     // a temporary directory
	key      ssh.Signer // signs the sums, nil for none
	products []product
	level    int       // of gzip; zstd has a level that corresponds to it
	started  time.Time // when the last product was complete
}

// report prints a table of the files.
func (r *release) report(w io.Writer) error {
	if _, err := fmt.Fprintf(w, "| file | for | size | time |\n| --- | --- | ---: | ---: |\n"); err != nil {
		return err
	}
	for _, p := range r.products {
		if _, err := fmt.Fprintf(w, "| `%s` | %s | %s | %.1f s |\n", p.name, p.what, size(p.size), p.seconds); err != nil {
			return err
		}
	}
	return nil
}

// size returns a number of bytes for people.
func size(n int64) string {
	if n < 100_000 {
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// path returns the path of a file of the release.
func (r *release) path(name string) string { return filepath.Join(r.out, name) }

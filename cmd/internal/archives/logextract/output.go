package logextract

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/pcptime"
)

// byStart sorts archives by their start; unreadable archives stay in front, to be
// reported.
func byStart(names []string) []string {
	starts := make(map[string]pcp.Timestamp)
	for _, name := range names {
		if a, err := archive.Open(name); err == nil {
			starts[name] = a.Label().Start
			a.Close()
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return starts[a].Compare(starts[b]) })
	return names
}

// setZone finds the time zone for times of day.
func (x *extractor) setZone() {
	x.loc = x.env.Local()
	switch {
	case x.opts.HostZone:
		label := x.firstInput().label
		fmt.Fprintf(x.env.Stdout, "Note: timezone set to local timezone of host \"%s\" from archive\n\n", label.Host)
		x.loc = pcptime.Zone(label.TimeZone)
	case x.opts.TimeZoneSet:
		fmt.Fprintf(x.env.Stdout, "Note: timezone set to \"TZ=%s\"\n\n", x.opts.TimeZone)
		x.loc = pcptime.Zone(x.opts.TimeZone)
	}
}

func (x *extractor) firstInput() *input {
	return x.inputs[slices.IndexFunc(x.inputs, func(in *input) bool { return !in.empty })]
}

// create creates the output, with a label combined from those of the inputs.
func (x *extractor) create() error {
	if err := x.checkFree(); err != nil {
		return err
	}
	label, err := x.newLabel()
	if err != nil {
		return err
	}
	out, err := archive.Create(x.outName, archive.WriterConfig{Label: label, ManualIndex: true, BufferBytes: bufferSize})
	if err != nil {
		return x.cannotCreate(err)
	}
	x.out, x.copier, x.version = out, archive.NewCopier(out), label.Version
	return nil
}

// bufferSize is the size of a write.
const bufferSize = 1 << 20

// checkFree reports whether none of the files exists: this check precedes those of the
// labels.
func (x *extractor) checkFree() error {
	for _, suffix := range []string{".index", ".meta", ".0"} {
		path := x.outName + suffix
		if _, err := os.Stat(path); err == nil {
			return x.cannotCreate(&fs.PathError{Op: "create", Path: path, Err: fs.ErrExist})
		}
	}
	return nil
}

func (x *extractor) cannotCreate(err error) error {
	path := x.outName + ".index"
	var perr *fs.PathError
	if errors.As(err, &perr) && (perr.Op == "create" || errors.Is(err, fs.ErrExist)) {
		path = perr.Path
	}
	if errors.Is(err, fs.ErrExist) {
		x.env.Printf("__pmLogNewFile: \"%s\" already exists, not over-written\n", path)
	} else {
		x.env.Printf("__pmLogNewFile: failed to create \"%s\": %s\n", path, errText(err))
	}
	x.env.Flush()
	x.complain("Error: __pmLogCreate: %s", errText(err))
	return errExit
}

// newLabel checks the labels of the inputs and returns the label of the output.
func (x *extractor) newLabel() (archive.Label, error) {
	var first, last *input
	version := 0
	for _, in := range x.inputs {
		if in.empty {
			continue
		}
		if first == nil {
			first = in
		}
		last = in
		version = max(version, in.label.Version)
		if x.wantVersion != 0 && in.label.Version > x.wantVersion {
			x.complain("Error: input archive version must be no more than %d\narchive: %s version: %d",
				x.wantVersion, in.name, in.label.Version)
			return archive.Label{}, errAbandon
		}
	}
	if x.wantVersion != 0 {
		version = x.wantVersion
	}
	zone := last
	if x.firstZone {
		zone = first
	}
	label := archive.Label{
		Version: version, PID: int32(os.Getpid()), Host: first.label.Host,
		TimeZone: zone.label.TimeZone, ZoneInfo: zone.label.ZoneInfo,
	}
	for _, in := range x.inputs {
		if in.empty {
			continue
		}
		if in.label.Host != label.Host {
			x.complain("Error: host name mismatch for input archives\narchive: %s host: %s\narchive: %s host: %s",
				first.name, first.label.Host, in.name, in.label.Host)
			return archive.Label{}, errAbandon
		}
		if in.label.TimeZone != label.TimeZone {
			x.complain("Warning: timezone mismatch for input archives\n"+
				"archive: %s timezone: %s [will be used]\narchive: %s timezone: %s [will be ignored]",
				zone.name, label.TimeZone, in.name, in.label.TimeZone)
		}
	}
	return label, nil
}

// setWindow finds the time window. The C tool counts in microseconds here, and ends a
// second late to miss nothing. That of PCP 7 counts in nanoseconds, and ends in time.
func (x *extractor) setWindow() error {
	o := x.opts
	micro := func(t pcp.Timestamp) pcp.Timestamp {
		if !x.seven {
			t.Nsec -= t.Nsec % 1000
		}
		return t
	}
	w, _, err := pcptime.ParseWindow(pcptime.Bounds{Start: o.Start, Finish: o.Finish}, micro(x.start), micro(x.end), x.loc)
	if err != nil {
		x.complain("Invalid time window specified: %v", err)
		return errAbandon
	}
	if o.Start != nil {
		x.winStart = micro(w.Start)
	} else {
		x.winStart = pcp.Timestamp{Sec: -1}
	}
	if o.Finish != nil {
		x.bounded, x.winEnd = true, micro(w.Finish)
		if !x.seven {
			x.winEnd.Sec++
		}
	}
	if x.daily && x.winStart.Sec+secPerDay < x.winEnd.Sec {
		x.complain("Warning: -S and -T must specify a time window within\nthe same day, for -w to be used.  Ignoring -w flag.")
		x.daily = false
	}
	return nil
}

const secPerDay = 24 * 60 * 60

package importcmd

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/importrun"
)

// optAppend is --append of an importer that the C implementation has without it.
func optAppend() cli.Option {
	return cli.Option{Long: "append", Help: "add to the archive if there is one", Extra: true}
}

// A stored has the metadata of the archive to append to. A nil one has nothing.
type stored struct {
	base  string
	label archive.Label
	meta  *archive.Meta
	end   time.Time // of its last record
}

// findStored reads the archive to append to: nil if there is none, or opt does not append. If a program that wrote it
// was killed, findStored cuts off incomplete records at its end.
func findStored(env *cli.Env, base string, opt *importer.Options) (*stored, error) {
	if !opt.Append {
		return nil, nil
	}
	if err := archive.CheckFree(base); !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if written, err := archive.Written(base); err == nil && !written {
		cut, err := archive.Trim(base)
		if err != nil {
			return nil, err
		}
		if n := cut.Data + cut.Meta + cut.Index; n > 0 {
			fmt.Fprintf(env.Stderr, "%s: %s: cut %d bytes of incomplete records off its end\n", env.ProgName(), base, n)
		}
	}
	a, err := archive.Open(base)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	end, err := a.End()
	if err != nil {
		return nil, err
	}
	return &stored{base, a.Label(), a.Meta(), end.Time()}, nil
}

// findStored finds the archive to append to. Its version and time zone are used unless options set
// others.
func (j *job) findStored() error {
	var err error
	if j.stored, err = findStored(j.env, j.archive, &j.opt); err != nil || j.stored == nil {
		return err
	}
	if j.opt.Version == 0 {
		j.opt.Version = j.stored.label.Version
	}
	if j.zone == "" {
		j.zone = j.stored.label.TimeZone
	}
	return nil
}

// desc returns the descriptor of a metric.
func (s *stored) desc(name string) (pcp.Desc, bool) {
	if s == nil {
		return pcp.Desc{}, false
	}
	id, ok := s.meta.LookupName(name)
	if !ok {
		return pcp.Desc{}, false
	}
	desc, err := s.meta.Desc(id)
	return desc, err == nil
}

// spec returns the properties of a metric.
func (s *stored) spec(name string) spec {
	desc, ok := s.desc(name)
	if !ok {
		return noSpec
	}
	return spec{typ: desc.Type, sem: desc.Sem, units: desc.Units, known: true}
}

// has reports whether the archive has an instance domain.
func (s *stored) has(indom pcp.InDom) bool {
	return s != nil && slices.Contains(s.meta.InDoms(), indom)
}

// instances returns the instances of a domain, all that it ever had.
func (s *stored) instances(indom pcp.InDom) []pcp.Instance {
	if !s.has(indom) {
		return nil
	}
	names := make(map[int32]string)
	for rec := range s.meta.History(indom) {
		for _, in := range rec.Instances {
			names[in.Inst] = in.Name
		}
	}
	var list []pcp.Instance
	for inst, name := range names {
		list = append(list, pcp.Instance{Inst: inst, Name: name})
	}
	slices.SortFunc(list, func(a, b pcp.Instance) int { return int(a.Inst) - int(b.Inst) })
	return list
}

// after returns an error unless t is after the last record of the archive.
func (s *stored) after(t time.Time, loc *time.Location) error {
	if s == nil || t.After(s.end) {
		return nil
	}
	return fmt.Errorf("%s is not after the last record of %s, %s", t.Format(time.RFC3339Nano), s.base, s.end.In(loc).Format(time.RFC3339Nano))
}

// start begins the archive, or continues it. Without a version it gets that of the archive, or the
// default. sources are the files of the data.
func (o *output) start(env *cli.Env, base string, opt importer.Options, sources ...string) error {
	var err error
	if o.stored, err = findStored(env, base, &opt); err != nil {
		return err
	}
	if opt.Version == 0 && o.stored == nil {
		if opt.Version, err = defaultVersion(env); err != nil {
			return err
		}
	}
	if err := volumeSize(env, &opt); err != nil {
		return err
	}
	announce(env, &opt, sources...)
	o.im, err = importer.Start(base, opt)
	return err
}

// addInstance adds an instance with a number, or the next one if the archive is continued and
// does not have the instance.
func (o *output) addInstance(indom pcp.InDom, name string, inst int32) error {
	if o.stored != nil {
		return o.im.EnsureInstance(indom, name)
	}
	return o.im.AddInstance(indom, name, inst)
}

// newInDom returns an instance domain that the archive does not have yet.
func (s *stored) newInDom(im *importer.Importer) pcp.InDom {
	for {
		if indom := im.NewInDom(); !s.has(indom) {
			return indom
		}
	}
}

// announce makes the import visible in the metrics pmimport of the collectors of this host. There is no message
// if the directory does not exist, or the user may not write to it, as on most hosts.
func announce(env *cli.Env, opt *importer.Options, sources ...string) {
	opt.Program, opt.ProgramVersion, opt.ProgramArgs = strings.ReplaceAll(env.ProgName(), " ", "-"), env.Version, programArgs(sources)
	opt.ProgramDir = env.Config().Get(importrun.Setting)
	opt.ProgramError = func(err error) {
		if !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist) && !readOnly(err) {
			fmt.Fprintf(env.Stderr, "%s: the metrics pmimport do not show this import: %v\n", env.ProgName(), err)
		}
	}
}

// maxProgramArgs is the maximum length of the names of files in pmimport.args, that of the C agent.
const maxProgramArgs = 511

// programArgs joins names of files. It ends in ... if there are too many.
func programArgs(sources []string) string {
	text := strings.Map(func(r rune) rune {
		if r < ' ' {
			return '?'
		}
		return r
	}, strings.Join(sources, " "))
	if len(text) > maxProgramArgs {
		text = strings.ToValidUTF8(text[:maxProgramArgs-len("...")], "") + "..."
	}
	return text
}

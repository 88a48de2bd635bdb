package importcmd

import (
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// A stored has the metadata of the archive to append to. A nil one has nothing.
type stored struct {
	meta *archive.Meta
	end  time.Time // of its last record
}

// findStored reads the archive to append to, if there is one. Its version and time zone are used
// unless options set others.
func (j *job) findStored() error {
	if !j.opt.Append {
		return nil
	}
	if err := archive.CheckFree(j.archive); !errors.Is(err, fs.ErrExist) {
		return err
	}
	a, err := archive.Open(j.archive)
	if err != nil {
		return err
	}
	defer a.Close()
	end, err := a.End()
	if err != nil {
		return err
	}
	l := a.Label()
	if j.opt.Version == 0 {
		j.opt.Version = l.Version
	}
	if j.zone == "" {
		j.zone = l.TimeZone
	}
	j.stored = &stored{a.Meta(), end.Time()}
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

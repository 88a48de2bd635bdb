package importer

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"

	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/internal/importrun"
)

// A program is the description of the program that writes an archive.
type program struct {
	tool, dir string
	periodic  bool
}

// setProgram makes the program visible in the metrics pmimport, if Options.Program is set (pmiSetImportProgram of PCP 7.2).
func (im *Importer) setProgram() {
	if im.opt.Program == "" {
		return
	}
	if err := im.writeProgram(); err != nil && im.opt.ProgramError != nil {
		im.opt.ProgramError(err)
	}
}

func (im *Importer) writeProgram() error {
	base, err := filepath.Abs(im.base)
	if err != nil {
		return err
	}
	p := &program{im.opt.Program, cmp.Or(im.opt.ProgramDir, config.Process().Get(importrun.Setting)), im.opt.Periodic}
	s := importrun.Status{Version: im.opt.ProgramVersion, Args: im.opt.ProgramArgs, Archive: base}
	if !p.periodic {
		s.PID = os.Getpid()
	}
	if err := importrun.Write(p.dir, p.tool, s); err != nil {
		return err
	}
	im.program = p
	return nil
}

// remove removes the description, which nil does not have.
func (p *program) remove() error {
	if p == nil || p.periodic {
		return nil
	}
	return importrun.Remove(p.dir, p.tool, os.Getpid())
}

// endProgram removes the description at the end of the archive.
func (im *Importer) endProgram(err error) error {
	if e := im.program.remove(); e != nil {
		err = errors.Join(err, e)
	}
	im.program = nil
	return err
}

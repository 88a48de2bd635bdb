package column

import (
	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
)

// A Family is a set of related metrics, and their sources.
type Family struct {
	Name    string   // for messages
	Metrics []Metric // all that are in the blocks of the sources
	Sources []*Source
}

// A Source is a file, or a few that are read together. It belongs to one agent.
type Source struct {
	Name string // the file read, for messages: "/proc/meminfo"

	// Blocks are what a reading fills. Where it fails they are cleared.
	Blocks []*Block
	// After lists the sources that must have been read before this one, since it
	// builds on their results. They come earlier in the agent.
	After []*Source

	// File and Parse are for a source that is one file: Parse fills the blocks from
	// what the file holds now, which is valid until it returns. It must accept any
	// bytes.
	File  File
	Parse func(b []byte)
	// Read fills the blocks of any other source, in place of File and Parse. An
	// error that is fs.ErrNotExist means that there is nothing to report.
	Read func() error

	// Row fills one row of the blocks, in place of Parse and Read, for a source whose
	// rows cost something each, such as a file for each process. The rows are those of
	// the block that lists the instances, whose source is in After. Row is called when a
	// fetch wants the first value of a row, once after each reading; cells that it does
	// not set have no value.
	Row func(row int)

	// Restricted means that only clients that Config.Trusts get the values. The
	// source is not read for others.
	Restricted bool
	// Scope is not 0 for a source that can be different for some clients, such as
	// those that look into a container; see Agent.Twin. The owner of the agent decides
	// what each number means.
	Scope Scope

	number  int // place in the agent's sources
	failing bool
	filled  []bool // by row, of a source with Row
}

// A Scope is a group of sources.
type Scope uint8

// A File is what a Source reads: the contents are valid until the next Read.
type File interface {
	Read() ([]byte, error)
}

// NewFile returns the file at path, which stays open and is read from its start each
// time. It need not exist: it is then looked for at each reading.
func NewFile(path string) File { return procfs.NewFile(path) }

// read reads the source and fills its blocks.
func (s *Source) read() error {
	if s.Row != nil {
		s.restart()
		return nil
	}
	if s.Read != nil {
		return s.Read()
	}
	b, err := s.File.Read()
	if err != nil {
		return err
	}
	s.Parse(b)
	return nil
}

// restart gives the blocks of a source with Row the present rows, and clears their
// cells and errors.
func (s *Source) restart() {
	n := 0
	for _, b := range s.Blocks {
		clear(b.errs)
		b.follow(b.inDom.block)
		n = len(b.insts)
	}
	if cap(s.filled) < n {
		s.filled = make([]bool, n+n/4)
	}
	s.filled = s.filled[:n]
	clear(s.filled)
}

// Fill has Row called for a row, if it was not since the last reading, for a source that
// builds on all rows of this one.
func (s *Source) Fill(row int) {
	if s.filled[row] {
		return
	}
	s.filled[row] = true
	for _, b := range s.Blocks {
		clear(b.Row(row))
	}
	s.Row(row)
}

// A Metric is a column of a block. Clients and archives rely on PMIDs, types,
// semantics and units; do not change them.
type Metric struct {
	Name          string // "" for a metric that is known by its PMID alone
	Cluster, Item int
	Type          pcp.Type
	Sem           pcp.Sem
	Units         pcp.Units

	From int    // the place of the metric's block among those that NewBlocks made
	Col  int    // the column, unless
	Key  string // the column is found by its name in the file

	Help   string    // one line; "" if Config.Texts has it
	Long   string    // the help text beside it, in lines of at most 79 bytes; "" if Config.Texts has it
	Field  string    // where in the source the values are, "" for Key
	Labels string    // of the item, a JSON object; "" for none
	Err    pcp.Error // if not 0, what a fetch always answers
}

// An InDom is an instance domain. Its instances are the rows of the block that has it
// as Layout.InDom and sets Layout.Lists. It belongs to one agent.
type InDom struct {
	Serial int
	Help   string // one line; "" if Config.Texts has it
	Long   string // the help text beside it, in lines of at most 79 bytes; "" if Config.Texts has it
	Labels string // of the domain, a JSON object; "" for none

	// InstanceLabels returns the labels of an instance, which are encoded as JSON.
	// If it is nil the instances have no labels.
	InstanceLabels func(inst int32, name string) map[string]any

	block *Block // that lists the instances
}

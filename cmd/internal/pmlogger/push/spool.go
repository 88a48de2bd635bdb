package push

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/go-pcp/pcp/archive"
)

// A Spool is an archive that this process writes and pushes, and that is stored on this host only until the
// server has it: volumes that the server has are removed, except the last of these.
type Spool struct {
	Base string
	// Done is closed when the archive is complete.
	Done <-chan struct{}
	// Max is the maximum size of volumes, in bytes, that are kept while the server cannot be reached, 0 for no
	// limit. Beyond it, the oldest volumes are removed, except the current volume, and a volume that the server
	// has in part.
	Max int64
	// Dropped, if not nil, is called for each volume removed before it reached the server.
	Dropped func(volume int, bytes int64)
}

// Drain pushes a spool until it is complete and the server has all of it, or until ctx is done; then it returns
// nil, and [Pusher.Left] returns the rest. Otherwise it is like [Pusher.Follow].
func (p *Pusher) Drain(ctx context.Context, s Spool) error {
	done := func() bool {
		select {
		case <-s.Done:
			return true
		default:
			return false
		}
	}
	var failed error
	err := p.follow(ctx, s.Base, done, s.Done, func() {
		if err := p.trim(&s); err != nil && failed == nil {
			failed = err
			p.cfg.Warn(err)
		}
	})
	if errors.Is(err, errNotBegun) {
		return nil // it ended before it had anything to push
	}
	return err
}

// trim removes volumes of a spool.
func (p *Pusher) trim(s *Spool) error {
	files, err := archive.FindFiles(s.Base)
	if err != nil || len(files.Volumes) == 0 {
		return nil // Push reports it
	}
	var waits int64
	sizes := make([]int64, len(files.Volumes))
	var failed []error
	for i, path := range files.Volumes {
		if files.Numbers[i] < p.vol {
			failed = append(failed, os.Remove(path))
			continue
		}
		if st, err := os.Stat(path); err == nil {
			sizes[i] = st.Size()
			waits += sizes[i]
		}
	}
	for i, path := range files.Volumes[:len(files.Volumes)-1] {
		if s.Max <= 0 || waits <= s.Max {
			break
		}
		if n := files.Numbers[i]; n <= p.vol {
			continue
		}
		if err := os.Remove(path); err != nil {
			failed = append(failed, err)
			continue
		}
		waits -= sizes[i]
		if s.Dropped != nil {
			s.Dropped(files.Numbers[i], sizes[i])
		}
	}
	return errors.Join(failed...)
}

// Left returns the number of bytes of an archive that the server does not have.
func (p *Pusher) Left(base string) (int64, error) {
	files, err := archive.FindFiles(base)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return 0, nil
		}
		return 0, err
	}
	var left int64
	for i, path := range files.Volumes {
		st, err := os.Stat(path)
		switch {
		case err != nil:
			return 0, err
		case files.Numbers[i] > p.vol:
			left += st.Size()
		case files.Numbers[i] == p.vol:
			left += max(st.Size()-p.data, 0)
		}
	}
	for path, sent := range map[string]int64{files.Meta: p.meta, files.Index: p.index} {
		if path == "" {
			continue
		}
		st, err := os.Stat(path)
		if err != nil {
			return 0, err
		}
		left += max(st.Size()-sent, 0)
	}
	return left, nil
}

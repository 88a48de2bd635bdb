package objects

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"syscall"
)

// Check returns an error if the directory cannot be used, and waiting does not help: there is no such bucket, a file is in the way, or it
// must not be read. With a name it also checks that a file with that name can be written, which it removes. If the store does not
// answer before ctx is done, Check returns nil. A directory that is only read may be missing, as others may make it later.
func (d *Dir) Check(ctx context.Context, name string) error {
	var err error
	if name == "" {
		if _, err = d.back.entries(ctx, d.address); d.back == (shared{}) && errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	} else {
		address, bad := d.file(name)
		if bad != nil {
			return bad
		}
		err = d.back.try(ctx, address)
	}
	if err == nil || !lasting(err) {
		return nil
	}
	return err
}

// lasting reports whether an error of a store remains until somebody changes something.
func lasting(err error) bool {
	if e, ok := errors.AsType[*statusError](err); ok {
		passing := []int{http.StatusRequestTimeout, http.StatusConflict, http.StatusPreconditionFailed, http.StatusTooEarly, http.StatusTooManyRequests}
		return e.status < 500 && !slices.Contains(passing, e.status)
	}
	return slices.ContainsFunc([]error{fs.ErrPermission, fs.ErrNotExist, syscall.ENOTDIR, syscall.EROFS, syscall.ENAMETOOLONG, syscall.ELOOP},
		func(e error) bool { return errors.Is(err, e) })
}

func (s *s3) try(ctx context.Context, address string) error {
	_, err := s.write(ctx, address, []byte("pcp writes this file at its start, and removes it\n"), Condition{})
	if err == nil {
		_ = s.remove(ctx, address) // where files must not be removed, it stays
	}
	return err
}

func (shared) try(_ context.Context, path string) error {
	name, err := create(path, bytes.NewReader(nil))
	if err == nil {
		err = os.Remove(name)
	}
	return err
}

package share

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/objects"
)

// A Store is a directory that all recorders of a fleet can write. Names have slashes. Errors wrap fs.ErrNotExist, fs.ErrPermission
// and objects.ErrConflict.
type Store interface {
	// Read returns the contents of a file, and its version.
	Read(ctx context.Context, name string) (data []byte, version string, err error)
	// Create writes a file that does not exist yet.
	Create(ctx context.Context, name string, data []byte) (version string, err error)
	// Replace writes a file that has the given version.
	Replace(ctx context.Context, name string, data []byte, old string) (version string, err error)
	// Put writes a file.
	Put(ctx context.Context, name string, data []byte) error
	// List lists the files in a directory.
	List(ctx context.Context, dir string) ([]objects.Entry, error)
	// Remove removes a file. It is not an error if there is none.
	Remove(ctx context.Context, name string) error
}

// OpenStore opens a directory: s3://BUCKET/PREFIX, or a path. Nothing is requested yet.
func OpenStore(address string, getenv func(string) string) (Store, error) {
	d, err := objects.OpenDir(address, getenv)
	if err != nil {
		return nil, err
	}
	return store{d}, nil
}

// store is a Store in a Dir.
type store struct{ d *objects.Dir }

func (s store) Read(ctx context.Context, name string) ([]byte, string, error) {
	return s.d.Read(ctx, name)
}

func (s store) Create(ctx context.Context, name string, data []byte) (string, error) {
	return s.d.Write(ctx, name, data, objects.IfAbsent())
}

func (s store) Replace(ctx context.Context, name string, data []byte, old string) (string, error) {
	return s.d.Write(ctx, name, data, objects.IfVersion(old))
}

func (s store) Put(ctx context.Context, name string, data []byte) error {
	_, err := s.d.Write(ctx, name, data, objects.Condition{})
	return err
}

func (s store) List(ctx context.Context, dir string) ([]objects.Entry, error) {
	return s.d.List(ctx, dir)
}

func (s store) Remove(ctx context.Context, name string) error { return s.d.Remove(ctx, name) }

// Check checks that the store honours the conditions of writes.
func (s store) Check(ctx context.Context, name string) error { return s.d.CheckConditions(ctx, name) }

// Directories in a Store.
const (
	recorders = "fleet/recorders"
	hosts     = "fleet/hosts"
	statuses  = "fleet/status"
)

// maxID is the maximum length of the identifier of a recorder, which is a part of the names of archives.
const maxID = 63

// CheckID returns an error if a text is not valid as the identifier of a recorder.
func CheckID(id string) error {
	bad := strings.ContainsFunc(id, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '.')
	})
	switch {
	case id == "":
		return errors.New("the identifier of a recorder is empty")
	case len(id) > maxID:
		return fmt.Errorf("recorder %.20q...: an identifier has at most %d characters", id, maxID)
	case bad || id[0] == '-' || id[0] == '.':
		return fmt.Errorf(`recorder %q: an identifier has letters, digits, "-" and ".", and begins with a letter or digit`, id)
	}
	return nil
}

// Suffix returns the end of the names of archives that a recorder writes, so that no two recorders write archives of the same name.
func Suffix(id string) string {
	return "-" + strings.ReplaceAll(id, ".", "_") // a number after a dot is that of a volume
}

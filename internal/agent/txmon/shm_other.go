//go:build !linux && !darwin

package txmon

import "errors"

func create(int, int) (int, segment, error) { return 0, nil, errors.ErrUnsupported }
func attach(int) (segment, error)           { return nil, errors.ErrUnsupported }
func detach(segment) error                  { return errors.ErrUnsupported }
func remove(int) error                      { return errors.ErrUnsupported }

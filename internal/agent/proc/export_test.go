package proc

import "testing"

// WriteTree makes the files of a few processes and returns their root directory.
func WriteTree(t testing.TB) string { return newTree(t).dir }

// WriteGroups makes a tree of control groups of a version and returns its root directory.
func WriteGroups(t testing.TB, version string) string { return newGroupTree(t, version).dir }

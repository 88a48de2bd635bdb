//go:build unix && !linux

package doctor

import "golang.org/x/sys/unix"

func readOnly(st *unix.Statfs_t) bool { return st.Flags&unix.MNT_RDONLY != 0 }

// Package cifs is the agent for mounted SMB shares: requests and failures by share, sessions and connections, of the files that the
// kernel's client has in /proc/fs/cifs.
//
//	a, err := cifs.New(cifs.Config{})
//
// Versions 1 and 2 of the module count different things: the metrics of the other version have no values. Names, PMIDs, types and units are those of
// pmdacifs(1).
package cifs

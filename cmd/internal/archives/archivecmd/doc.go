// Package archivecmd is "pcp archive": what one does with the files of archives.
//
//	pcp archive ls [PATH...]       lists archives
//	pcp archive verify PATH...     looks for damage
//	pcp archive repair PATH NEW    saves what can be read
//	pcp archive convert PATH NEW   changes version, compression and volumes
//
// There is no such command in the C tools.
package archivecmd

// Package archivecmd implements "pcp archive", which manages the files of archives.
//
//	pcp archive ls [PATH...]       lists archives
//	pcp archive verify PATH...     looks for damage
//	pcp archive repair PATH NEW    saves the readable part
//	pcp archive convert PATH NEW   changes version, compression and volumes
//	pcp archive ship DIR ADDRESS   stores archives in object storage
//
// The C tools have no such command.
package archivecmd

// Package importrun reads and writes the status files of programs that write archives of imported data. Each
// program has a file of its name in the directory PCP_IMPORTRUN_DIR, from which the agent pmimport has the metrics
// of that name.
//
//	pid=4711
//	version=7.2.0
//	args=rooms.csv
//	archive=/var/log/rooms/20261127
//
// A file without pid= belongs to a program that runs from time to time, and is always valid. The lines are those
// of pmiSetImportProgram of PCP 7.2.
package importrun

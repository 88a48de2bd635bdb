package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// terminalRows returns the height of the terminal that standard output is, or 0.
func terminalRows() int {
	ws, err := unix.IoctlGetWinsize(int(os.Stdout.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(ws.Row)
}

// terminalColumns returns the width of the terminal that standard output is, or 0.
func terminalColumns() int {
	ws, err := unix.IoctlGetWinsize(int(os.Stdout.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(ws.Col)
}

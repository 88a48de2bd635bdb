package main

import "testing"

// BenchmarkCommands is what each start of the program spends on the table of commands.
func BenchmarkCommands(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		commands()
	}
}

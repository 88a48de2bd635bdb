//go:build !linux

package main

import "fmt"

func main() {
	fmt.Println("SKIPPED: the QA suite was not run: it needs the namespaces of Linux")
}

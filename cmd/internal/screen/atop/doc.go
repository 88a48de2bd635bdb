// Package atop is pcp-atop, the monitor of a system and of its processes, on a screen or as text, and
// pcp-atopsar, which prints reports of the same figures.
//
// What is measured is package sample's; the reports are package sar's; lines that programs read package
// parseable's; the screen and its text package screen's.
package atop

// Package atop is pcp-atop, the monitor of a system and of its processes, on a screen or as text, and
// pcp-atopsar, which prints reports of the same figures.
//
// Package sample measures, package sar prints the reports, package parseable the lines for programs,
// and package screen the screen and its text.
package atop

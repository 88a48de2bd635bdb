// Package store is pmstore: it changes the value of a metric.
//
//	pmstore sample.write_me 42
//	pmstore -i red simple.color 7
//
// It prints the old value and the new one of each instance.
package store

// Package conf reads the configuration of a recorder: which metrics pmlogger(1)
// records, how often, and which clients may change that.
//
//	log mandatory on every 10 seconds {
//		kernel.all.load [ "1 minute" ]
//		disk.dev
//	}
//	[access]
//	allow localhost : all;
//
// Parse takes text that the preprocessor (pmcpp(1)) has been over: its lines that
// name a file and a line are understood, so that messages name the place where a
// mistake was written.
package conf

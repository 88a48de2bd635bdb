// Package cpp is the preprocessor of name space files, pmcpp(1): a small
// relative of C's preprocessor. It knows #include, #define and #undef of macros
// without parameters, #ifdef, #ifndef, #else and #endif without nesting, #shell,
// and comments between /* and */.
//
//	r, err := cpp.Open("root", cpp.Config{IncludeDirs: []string{"/var/lib/pcp/pmns"}})
//	if err != nil {
//		return err
//	}
//	defer r.Close()
//	for {
//		line, err := r.Next()
//		...
//	}
//
// As with pmcpp, text after the last newline of a file is dropped, macros are not
// expanded in the expansion of a macro, and the first error ends everything.
package cpp

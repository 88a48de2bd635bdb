// Package lzma2 decodes LZMA2, the compression within .xz files, into memory
// of the caller, which is the dictionary too.
//
//	var d lzma2.Decoder
//	d.Reset(r, 8<<20)
//	n, err := d.Decode(buf, 0, len(buf))
//	if err == nil {
//		err = d.End()
//	}
//
// The length of a block's contents is in the index of an .xz file, so that
// nothing has to be copied out of a dictionary. Decoded bytes can be used before
// the rest is decoded. A [Reader] is for contents of any length.
//
// The format is a sequence of chunks. Each starts with a control byte:
//
//	00         the end
//	01         not compressed; forgets the dictionary
//	02         not compressed
//	80 ... ff  LZMA; bits 0-4 are bits 16-20 of the length - 1
//
// Two bytes follow with the length - 1, the most significant first. With LZMA
// there are two more with the compressed length - 1, and bits 5-6 of the
// control byte select the reset: 0 nothing, 1 the state, 2 the state with
// properties in one more byte, 3 as 2 and the dictionary.
package lzma2

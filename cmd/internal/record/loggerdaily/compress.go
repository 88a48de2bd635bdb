package loggerdaily

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/housekeeping"
)

// first returns the first string that is not empty.
func first(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}

// compressFiles compresses files of archives that are old enough. It skips the files that
// pmlogger is writing: the metadata, the index and the last volume of its archive.
func (w *work) compressFiles() {
	after := first(w.envAfter, w.after, defaultAfter)
	w.debugf("COMPRESSAFTER=%s", after)
	if unlimited(after) {
		return
	}
	line := first(w.envCompress, w.compress, defaultCompress)
	how, err := housekeeping.FindCompressor(w.env, line)
	if err != nil {
		w.fault("%v", err)
		return
	}
	switch {
	case w.force || w.logger.pid != 0 && w.logger.base != "":
	case w.logger.pid != 0:
		w.warn("cannot get archive basename pmlogger PID=%d", w.logger.pid)
		fallthrough
	default:
		w.warn("current volume of current pmlogger not known, compression skipped")
		return
	}
	skip, err := regexp.CompilePOSIX(first(w.envRegex, w.regex, defaultRegex))
	if err != nil {
		w.fault("regular expression of files not to compress: %v", err)
		return
	}
	list := w.candidates(after, skip)
	if w.logger.base != "" && len(list) > 0 {
		list = w.withoutCurrent(list)
	}
	if len(list) == 0 {
		w.debugf("Warning: no archive files found to compress")
		return
	}
	if w.verbose > 0 {
		older := ""
		if limit, _ := age(after); limit > 0 {
			older = " older than " + after + " days"
		}
		w.printf("Archive files%s being compressed ...\n%s", older, housekeeping.Fill(fileNames(list)))
	}
	if w.showMe {
		w.printf("+ %s %s\n", line, strings.Join(fileNames(list), " "))
	} else {
		w.exclusively(func() { list = w.compressList(how, list) })
	}
	if len(w.compressCallbacks) == 0 {
		return
	}
	w.verbosef("Compress callbacks ...")
	for _, base := range fullDays(list) {
		w.runCallbacks(w.compressCallbacks, base)
	}
}

// compressList compresses files and returns those that it compressed.
func (w *work) compressList(how *housekeeping.Compressor, list []file) (done []file) {
	for _, f := range list {
		if w.ctx.Err() != nil {
			break
		}
		if err := how.Compress(w.ctx, f.name, w.out); err != nil {
			w.printf("%s: %s: %s\n", how.Name(), f.name, cli.ErrText(err))
			w.failed = true
			continue
		}
		done = append(done, f)
	}
	return done
}

// candidates returns the files of archives that are old enough and not left out.
func (w *work) candidates(after string, skip *regexp.Regexp) []file {
	limit, _ := age(after)
	if !strings.Contains(after, ":") && limit > 0 {
		limit += 24 * time.Hour // as find -mtime +N, which ignores fractions of a day
	}
	before := time.Now().Add(-limit)
	list := w.files()
	return slices.DeleteFunc(list, func(f file) bool {
		return f.base == "" || f.base != w.logger.base && w.isWritten(f.base) || skip.MatchString(f.name) || limit > 0 && f.changed.After(before)
	})
}

// withoutCurrent leaves out the files that pmlogger is writing.
func (w *work) withoutCurrent(list []file) []file {
	current := -1
	if files, err := archive.FindFiles(w.logger.base); err == nil && len(files.Numbers) > 0 {
		current = slices.Max(files.Numbers)
	}
	w.debugf("[%s:%d] skip compress for current %s.%d volume", w.file, w.number, w.logger.base, current)
	return slices.DeleteFunc(list, func(f file) bool {
		if f.base != w.logger.base {
			return false
		}
		n, err := strconv.Atoi(f.part)
		return err != nil || n >= current
	})
}

// fullDays returns the archives of whole days that files belong to.
func fullDays(list []file) (bases []string) {
	for _, f := range list {
		if (len(f.base) == 8 || len(f.base) == 6) && strings.Trim(f.base, "0123456789") == "" {
			bases = append(bases, f.base)
		}
	}
	slices.Sort(bases)
	return slices.Compact(bases)
}
